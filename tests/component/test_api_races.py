"""Many clients want the same thing at the same moment: exactly one gets it, the others are told why not."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.component.clients import MERGE, Clients, Obj, at_once, connected, service, statuses
from tests.conformance.server import ApiServer, api_server

RIVALS = 64
SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
CHANGED = "the object has been modified; please apply your changes to the latest version and try again"

names = (f"svc-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("races")) as started:
        yield started


@pytest.fixture
async def clients(server: ApiServer) -> AsyncIterator[Clients]:
    async with connected(server, RIVALS) as ready:
        yield ready


async def race(clients: Clients, **spec: object) -> tuple[str, list[str]]:
    """All rivals create a Service of the same wish; gives the winner's name and what the others read."""
    wanted = [service(next(names), **spec) for _ in range(RIVALS)]
    answers = await at_once([clients.create(SERVICES, obj) for obj in wanted])
    assert statuses(answers) == {201: 1, 422: RIVALS - 1}
    (winner,) = (answer.body["metadata"]["name"] for answer in answers if answer.status == 201)
    losers = [obj["metadata"]["name"] for obj in wanted if obj["metadata"]["name"] != winner]
    refusals = [answer.message for answer in answers if answer.status == 422]
    return winner, [text.replace(f'"{name}"', "NAME") for name, text in zip(losers, refusals, strict=True)]


async def everything_is_held_once(clients: Clients) -> None:
    """Every address and port belongs to one Service, and every address object to a Service that has it."""
    services = await clients.items("/api/v1/services")
    held = {ip: obj["metadata"]["name"] for obj in services for ip in obj["spec"]["clusterIPs"]}
    assert len(held) == sum(len(obj["spec"]["clusterIPs"]) for obj in services)
    allocated = await clients.items(ADDRESSES)
    assert {obj["metadata"]["name"]: obj["spec"]["parentRef"]["name"] for obj in allocated} == held
    ports = [port["nodePort"] for obj in services for port in obj["spec"]["ports"] if "nodePort" in port]
    assert len(ports) == len(set(ports))


async def test_one_of_64_clients_gets_the_cluster_ip_that_all_want_again_and_again(clients: Clients) -> None:
    wanted = "10.96.0.50"
    for _ in range(5):
        winner, refusals = await race(clients, clusterIP=wanted)
        assert set(refusals) == {
            f'Service NAME is invalid: spec.clusterIPs: Invalid value: ["{wanted}"]:'
            f" failed to allocate IP {wanted}: provided IP is already allocated"
        }
        await everything_is_held_once(clients)
        assert (await clients.send("DELETE", f"{SERVICES}/{winner}")).status == 200


async def test_one_of_64_clients_gets_the_node_port_that_all_want_again_and_again(clients: Clients) -> None:
    for _ in range(5):
        winner, refusals = await race(clients, type="NodePort", node_port=30080)
        assert set(refusals) == {
            "Service NAME is invalid: spec.ports[0].nodePort: Invalid value: 30080:"
            " provided port is already allocated"
        }
        await everything_is_held_once(clients)
        assert (await clients.send("DELETE", f"{SERVICES}/{winner}")).status == 200


async def test_one_of_64_clients_gets_the_name_that_all_want(clients: Clients) -> None:
    wanted = service(next(names), type="NodePort")
    name = wanted["metadata"]["name"]
    answers = await at_once([clients.create(SERVICES, wanted) for _ in range(RIVALS)])
    assert statuses(answers) == {201: 1, 409: RIVALS - 1}
    refusals = {answer.message for answer in answers if answer.status == 409}
    assert refusals == {f'services "{name}" already exists'}
    await everything_is_held_once(clients)


async def test_a_thousand_services_created_at_once_have_a_thousand_addresses(clients: Clients) -> None:
    answers = await at_once([clients.create(SERVICES, service(next(names))) for _ in range(1000)])
    assert statuses(answers) == {201: 1000}
    assert len({answer.body["spec"]["clusterIP"] for answer in answers}) == 1000
    await everything_is_held_once(clients)


async def test_300_node_ports_given_out_at_once_are_all_different(clients: Clients) -> None:
    wanted = [service(next(names), type="NodePort") for _ in range(300)]
    answers = await at_once([clients.create(SERVICES, obj) for obj in wanted])
    assert statuses(answers) == {201: 300}
    assert len({answer.body["spec"]["ports"][0]["nodePort"] for answer in answers}) == 300
    await everything_is_held_once(clients)


async def test_of_writers_who_read_the_same_version_exactly_one_wins_each_round(clients: Clients) -> None:
    name = next(names)
    current = (await clients.create(SERVICES, service(name))).body
    for turn in range(20):
        wanted = [changed(current, f"{turn}-{writer}") for writer in range(16)]
        answers = await at_once([clients.send("PUT", f"{SERVICES}/{name}", obj) for obj in wanted])
        assert statuses(answers) == {200: 1, 409: 15}
        refusals = {answer.message for answer in answers if answer.status == 409}
        assert refusals == {f'Operation cannot be fulfilled on services "{name}": {CHANGED}'}
        before, current = current, (await clients.send("GET", f"{SERVICES}/{name}")).body
        assert [answer.body for answer in answers if answer.status == 200] == [current]
        assert int(current["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])


def changed(obj: Obj, writer: str) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "annotations": {"writer": writer}}}


async def test_patches_of_different_fields_at_once_are_all_kept(clients: Clients) -> None:
    name = next(names)
    await clients.create(SERVICES, service(name))
    patches = [{"metadata": {"labels": {f"client-{number}": "was-here"}}} for number in range(RIVALS)]
    answers = await at_once([clients.send("PATCH", f"{SERVICES}/{name}", p, MERGE) for p in patches])
    assert statuses(answers) == {200: RIVALS}
    labels = (await clients.send("GET", f"{SERVICES}/{name}")).body["metadata"]["labels"]
    assert labels == {f"client-{number}": "was-here" for number in range(RIVALS)}


async def test_one_of_64_clients_deletes_it_and_its_address_can_be_had_at_once(clients: Clients) -> None:
    name = next(names)
    address = (await clients.create(SERVICES, service(name))).body["spec"]["clusterIP"]
    answers = await at_once([clients.send("DELETE", f"{SERVICES}/{name}") for _ in range(RIVALS)])
    assert statuses(answers) == {200: 1, 404: RIVALS - 1}
    again = await clients.create(SERVICES, service(next(names), clusterIP=address))
    assert again.status == 201
    await everything_is_held_once(clients)


async def test_services_that_become_cluster_ip_services_at_once_share_no_address(clients: Clients) -> None:
    wanted = "10.96.0.60"
    external = [service(next(names), type="ExternalName", externalName="example.com") for _ in range(16)]
    await at_once([clients.create(SERVICES, obj) for obj in external])
    patch = {"spec": {"type": "ClusterIP", "clusterIP": wanted, "externalName": None}}
    paths = [f"{SERVICES}/{obj['metadata']['name']}" for obj in external]
    answers = await at_once([clients.send("PATCH", path, patch, MERGE) for path in paths])
    assert statuses(answers) == {200: 1, 422: 15}
    await at_once([clients.send("DELETE", path) for path in paths])
    await everything_is_held_once(clients)
