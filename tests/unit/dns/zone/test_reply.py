"""What the zone answers: the promises of the DNS specification 1.1 (spec 5.2), name by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairway.api.objects import Pod, PodIP, PodStatus
from fairway.api.selectors import parse_label_selector
from fairway.dns import names, wire
from fairway.dns.rdata import type_number
from fairway.dns.zone.reply import Resolution, resolve
from tests.unit.dns.zone.objects import SETTINGS, World, endpoint, external, piece, service, shown


def ask(world: World, name: str, rdtype: str = "A") -> Resolution:
    full = name if name.endswith(".") else f"{name}.cluster.local."
    found = resolve(world.zone, names.from_text(full), type_number(rdtype))
    assert found is not None
    return found


def answers(world: World, name: str, rdtype: str = "A") -> list[str]:
    """The records of the answer, or one word for why there is none."""
    reply = ask(world, name, rdtype).reply
    if not reply.answer:
        assert [record.type for record in reply.authority] == [wire.SOA]
        return ["NXDOMAIN" if reply.rcode == wire.NXDOMAIN else "NODATA"]
    assert reply.flags == wire.AA
    return [shown(record) for record in reply.answer]


# ---- Services ------------------------------------------------------------------------------------------


def test_a_service_has_its_virtual_ip() -> None:
    world = World()
    world.put(service())
    assert answers(world, "web.prod.svc") == ["web.prod.svc A 10.96.0.7"]
    assert answers(world, "web.prod.svc", "AAAA") == ["NODATA"]


def test_a_dual_stack_service_has_both_addresses() -> None:
    world = World()
    world.put(service(clusterIPs=["10.96.0.7", "fd00:96::7"]))
    assert answers(world, "web.prod.svc", "AAAA") == [f"web.prod.svc AAAA {'fd000096' + '0' * 23 + '7'}"]


def test_a_named_port_has_srv_with_the_address_beside_it() -> None:
    world = World()
    world.put(service(ports=[{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]))
    assert answers(world, "_http._tcp.web.prod.svc", "SRV") == [
        "_http._tcp.web.prod.svc SRV 100 80 web.prod.svc"
    ]
    assert answers(world, "_dns._udp.web.prod.svc", "SRV") == [
        "_dns._udp.web.prod.svc SRV 100 53 web.prod.svc"
    ]
    assert answers(world, "_dns._tcp.web.prod.svc", "SRV") == ["NXDOMAIN"]
    extras = ask(world, "_http._tcp.web.prod.svc", "SRV").reply.additional
    assert [shown(record) for record in extras] == ["web.prod.svc A 10.96.0.7"]


def test_srv_of_the_bare_name_lists_all_ports_and_shares_the_weight() -> None:
    world = World()
    world.put(service(ports=[{"name": "a", "port": 1}, {"name": "b", "port": 2}, {"name": "c", "port": 3}]))
    assert [r.split()[2:4] for r in answers(world, "web.prod.svc", "SRV")] == [
        ["33", "1"],
        ["33", "2"],
        ["33", "3"],
    ]


def test_port_names_of_a_virtual_ip_have_no_addresses_of_their_own() -> None:
    world = World()
    world.put(service())
    assert answers(world, "_http._tcp.web.prod.svc", "A") == ["NODATA"]


def test_names_above_existing_ones_exist() -> None:
    world = World()
    world.put(service())
    for name in ("svc", "prod.svc", "_tcp.web.prod.svc", "dns", "pod", "prod.pod"):
        assert answers(world, name, "TXT") == ["NODATA"], name


@pytest.mark.parametrize(
    "name", ["nope.prod.svc", "web.nowhere.svc", "web.prod", "x.web.prod.svc", "_udp.web.prod.svc"]
)
def test_names_that_do_not_exist_are_denied_for_every_type(name: str) -> None:
    world = World()
    world.put(service())
    for rdtype in ("A", "AAAA", "SRV", "TXT", "SOA", "ANY", "HTTPS"):
        assert answers(world, name, rdtype) == ["NXDOMAIN"]


def test_a_namespace_exists_while_it_does() -> None:
    world = World()
    assert answers(world, "prod.svc") == ["NODATA"]
    world.namespace("prod", gone=True)
    assert answers(world, "prod.svc") == ["NXDOMAIN"]


def test_deleted_and_renamed_services_leave_nothing_behind() -> None:
    world = World()
    web, slices = service(), piece(endpoint("10.244.0.1"))
    before = dict(world.zone.nodes)
    world.put(web, slices)
    world.remove(slices)
    world.remove(web)
    assert world.zone.nodes == before
    assert answers(world, "7.0.96.10.in-addr.arpa.", "PTR") == ["NXDOMAIN"]
    assert answers(world, "96.10.in-addr.arpa.", "PTR") == ["NXDOMAIN"]


# ---- headless Services and endpoints -----------------------------------------------------------------------


def test_a_headless_service_has_the_addresses_of_its_ready_endpoints() -> None:
    world = World()
    world.put(service(clusterIP="None"))
    ready, failing = endpoint("10.244.0.1"), endpoint("10.244.0.2", conditions={"ready": False})
    world.put(piece(ready, failing, endpoint("10.244.0.3", conditions={"ready": True})))
    assert answers(world, "web.prod.svc") == ["web.prod.svc A 10.244.0.1", "web.prod.svc A 10.244.0.3"]


def test_a_headless_service_without_ready_endpoints_has_no_name() -> None:
    world = World()
    world.put(service(clusterIP="None"), piece(endpoint("10.244.0.1", conditions={"ready": False})))
    assert answers(world, "web.prod.svc") == ["NXDOMAIN"]
    world.put(piece(endpoint("10.244.0.1", conditions={"ready": True})))
    assert answers(world, "web.prod.svc") == ["web.prod.svc A 10.244.0.1"]


def test_endpoints_are_called_by_hostname_or_by_address() -> None:
    world = World()
    world.put(
        service(clusterIP="None"), piece(endpoint("10.244.0.1", hostname="web-0"), endpoint("10.244.0.2"))
    )
    assert answers(world, "web-0.web.prod.svc") == ["web-0.web.prod.svc A 10.244.0.1"]
    assert answers(world, "10-244-0-2.web.prod.svc") == ["10-244-0-2.web.prod.svc A 10.244.0.2"]
    assert answers(world, "10-244-0-1.web.prod.svc") == ["NXDOMAIN"]
    assert answers(world, "_http._tcp.web.prod.svc", "SRV") == [
        "_http._tcp.web.prod.svc SRV 50 8080 web-0.web.prod.svc",
        "_http._tcp.web.prod.svc SRV 50 8080 10-244-0-2.web.prod.svc",
    ]


def test_an_ipv6_endpoint_never_ends_in_a_dash() -> None:
    world = World()
    world.put(service(clusterIP="None"), piece(endpoint("fd00:244::"), addressType="IPv6"))
    assert answers(world, "fd00-244--0.web.prod.svc", "AAAA") != ["NXDOMAIN"]


def test_endpoints_of_several_slices_come_together_without_duplicates() -> None:
    world = World()
    world.put(service(clusterIP="None"), piece(endpoint("10.244.0.1"), endpoint("10.244.0.2")))
    second = piece(endpoint("10.244.0.2"), endpoint("10.244.0.3"))
    world.zone.slice_changed("prod/web-2", second)
    world.zone.flush()
    assert len(answers(world, "web.prod.svc")) == 3
    assert {r.split()[2] for r in answers(world, "_http._tcp.web.prod.svc", "SRV")} == {"25"}


def test_a_slice_that_moves_to_another_service_leaves_the_first() -> None:
    world = World()
    world.put(service(clusterIP="None"), service("api", clusterIP="None"), piece(endpoint("10.244.0.1")))
    moved = piece(endpoint("10.244.0.1"), name="api")
    world.zone.slice_changed("prod/web-1", moved)
    world.zone.flush()
    assert answers(world, "web.prod.svc") == ["NXDOMAIN"]
    assert answers(world, "api.prod.svc") == ["api.prod.svc A 10.244.0.1"]


def test_pod_names_serve_as_endpoint_names_where_wanted() -> None:
    world = World(replace(SETTINGS, endpoint_pod_names=True))
    long = {"kind": "Pod", "name": "p" * 64}
    world.put(
        service(clusterIP="None"),
        piece(
            endpoint("10.244.0.1", targetRef={"kind": "Pod", "name": "web-x1"}),
            endpoint("10.244.0.2", targetRef=long),
        ),
    )
    assert answers(world, "web-x1.web.prod.svc") != ["NXDOMAIN"]
    assert answers(world, "10-244-0-2.web.prod.svc") != ["NXDOMAIN"]


# ---- ExternalName ------------------------------------------------------------------------------------------


def test_an_external_name_is_a_cname_that_leads_outside() -> None:
    world = World()
    world.put(external("db", "my.database.example.com"))
    resolution = ask(world, "db.prod.svc")
    assert [shown(r) for r in resolution.reply.answer] == ["db.prod.svc CNAME my.database.example.com."]
    assert resolution.external == names.from_text("my.database.example.com.")


@pytest.mark.parametrize("rdtype", ["A", "AAAA", "SRV", "TXT", "MX", "HTTPS", "SOA"])
def test_a_cname_answers_every_type(rdtype: str) -> None:
    world = World()
    world.put(service(), external("alias", "web.prod.svc.cluster.local"))
    assert answers(world, "alias.prod.svc", rdtype)[0] == "alias.prod.svc CNAME web.prod.svc"


def test_a_cname_within_the_zone_brings_what_it_leads_to() -> None:
    world = World()
    world.put(
        service(),
        external("alias", "web.prod.svc.cluster.local"),
        external("b", "alias.prod.svc.cluster.local"),
    )
    assert answers(world, "b.prod.svc") == [
        "b.prod.svc CNAME alias.prod.svc",
        "alias.prod.svc CNAME web.prod.svc",
        "web.prod.svc A 10.96.0.7",
    ]


def test_the_last_name_of_a_chain_decides_the_rcode() -> None:
    world = World()
    world.put(external("alias", "nope.prod.svc.cluster.local"))
    reply = ask(world, "alias.prod.svc").reply
    assert (reply.rcode, len(reply.answer), len(reply.authority)) == (wire.NXDOMAIN, 1, 1)


def test_a_loop_of_cnames_ends() -> None:
    world = World()
    world.put(external("a", "b.prod.svc.cluster.local"), external("b", "a.prod.svc.cluster.local"))
    assert len(answers(world, "a.prod.svc")) == 2


@pytest.mark.parametrize("target", ["192.0.2.1", "fd00::1", "", "a..b"])
def test_what_is_no_host_name_makes_no_cname(target: str) -> None:
    world = World()
    world.put(external("odd", target))
    assert answers(world, "odd.prod.svc") == ["NXDOMAIN"]


# ---- addresses, Pods, the zone itself ------------------------------------------------------------------


def test_addresses_lead_back_to_services_and_endpoints() -> None:
    world = World()
    world.put(service(), piece(endpoint("10.244.0.1", hostname="a"), endpoint("10.96.0.7")))
    assert answers(world, "7.0.96.10.in-addr.arpa.", "PTR") == ["7.0.96.10.in-addr.arpa. PTR web.prod.svc"]
    assert answers(world, "1.0.244.10.in-addr.arpa.", "PTR") == [
        "1.0.244.10.in-addr.arpa. PTR a.web.prod.svc"
    ]
    assert answers(world, "1.0.244.10.in-addr.arpa.", "A") == ["NODATA"]
    assert answers(world, "244.10.in-addr.arpa.", "PTR") == ["NODATA"]
    assert ask(world, "244.10.in-addr.arpa.", "PTR").bare


def test_an_endpoint_of_two_services_has_two_names() -> None:
    world = World()
    world.put(service(clusterIP="None"), service("api", clusterIP="None"))
    world.put(piece(endpoint("10.244.0.1")), piece(endpoint("10.244.0.1"), name="api"))
    assert len(answers(world, "1.0.244.10.in-addr.arpa.", "PTR")) == 2


def test_pods_are_named_after_their_addresses_in_namespaces_that_exist() -> None:
    world = World()
    assert answers(world, "10-1-2-3.prod.pod") == ["10-1-2-3.prod.pod A 10.1.2.3"]
    assert answers(world, "fd00--5.prod.pod", "AAAA") != ["NODATA"]
    for name in (
        "10-1-2-3.nowhere.pod",
        "10-1-2.prod.pod",
        "300-1-2-3.prod.pod",
        "x.y.z.10-1-2-3.prod.pod",
        "a.prod.pod",
    ):
        assert answers(world, name) == ["NXDOMAIN"], name
    assert answers(world, "x.10-1-2-3.prod.pod") == ["NODATA"]
    assert answers(world, "10-1-2-3.prod.pod", "SRV") == ["NODATA"]


def test_verified_pods_are_known_by_all_their_addresses_until_they_end() -> None:
    world = World(replace(SETTINGS, pods="verified"))
    pod = Pod(status=PodStatus(phase="Running", pod_ips=[PodIP("10.1.2.3"), PodIP("fd00::3")]))
    world.zone.pod_changed("prod/a", None, pod)
    assert answers(world, "10-1-2-3.prod.pod") == ["10-1-2-3.prod.pod A 10.1.2.3"]
    assert answers(world, "fd00--3.prod.pod", "AAAA") != ["NXDOMAIN"]
    assert answers(world, "10-1-2-4.prod.pod") == ["NXDOMAIN"]
    assert world.zone.namespaces_of_pod(bytes((10, 1, 2, 3))) == ["prod"]
    world.zone.pod_changed("prod/a", pod, Pod(status=PodStatus(phase="Succeeded", pod_ip="10.1.2.3")))
    assert answers(world, "10-1-2-3.prod.pod") == ["NXDOMAIN"]


def test_disabled_pods_have_no_names() -> None:
    assert answers(World(replace(SETTINGS, pods="disabled")), "10-1-2-3.prod.pod") == ["NXDOMAIN"]


def test_the_version_of_the_specification_is_told() -> None:
    (record,) = ask(World(), "dns-version", "TXT").reply.answer
    assert record.data == b"\x051.1.0"


def test_the_apex_has_soa_and_ns_and_the_serial_grows_with_changes() -> None:
    world = World()
    world.zone.addresses = (bytes((10, 244, 0, 53)),)
    assert answers(world, "cluster.local.", "NS") == ["cluster.local. NS ns.dns"]
    assert answers(world, "ns.dns") == ["ns.dns A 10.244.0.53"]
    before = ask(world, "cluster.local.", "SOA").reply.answer[0].data
    world.put(service("kube-dns"), piece(endpoint("10.244.0.53"), name="kube-dns"))
    assert ask(world, "cluster.local.", "SOA").reply.answer[0].data[-20:-16] > before[-20:-16]
    assert answers(world, "cluster.local.", "NS") == ["cluster.local. NS kube-dns.prod.svc"]
    assert answers(world, "ns.dns") == ["ns.dns A 10.96.0.7"]


def test_any_is_answered_with_one_kind_of_records() -> None:
    world = World()
    world.put(service(clusterIPs=["10.96.0.7", "fd00:96::7"]), external("db", "db.example.com"))
    assert answers(world, "web.prod.svc", "ANY") == ["web.prod.svc A 10.96.0.7"]
    assert answers(world, "db.prod.svc", "ANY") == ["db.prod.svc CNAME db.example.com."]


def test_names_are_found_whatever_their_case_and_answered_as_asked() -> None:
    world = World()
    world.put(service())
    reply = ask(world, "wEb.PROD.svc").reply
    assert reply.answer[0].name == names.from_text("wEb.PROD.svc.cluster.local.")


def test_a_protocol_without_underscore_is_understood() -> None:
    world = World()
    world.put(service())
    assert answers(world, "_http.tcp.web.prod.svc", "SRV") != ["NXDOMAIN"]
    assert answers(world, "http._tcp.web.prod.svc", "SRV") == ["NODATA"]


# ---- which names there are at all ----------------------------------------------------------------------


def test_further_zones_have_the_same_names_and_ptr_leads_into_the_first() -> None:
    other = names.from_text("k8s.example.")
    world = World(replace(SETTINGS, zones=(names.IN_ADDR, SETTINGS.zones[0], other)))
    world.put(service())
    assert answers(world, "web.prod.svc.k8s.example.") == ["web.prod.svc.k8s.example. A 10.96.0.7"]
    assert answers(world, "7.0.96.10.in-addr.arpa.", "PTR") == ["7.0.96.10.in-addr.arpa. PTR web.prod.svc"]


def test_only_chosen_namespaces_are_served() -> None:
    world = World(replace(SETTINGS, namespaces=frozenset({"prod"})))
    world.namespace("dev")
    world.put(service(), service("api", "dev", clusterIP="10.96.0.8"))
    assert answers(world, "web.prod.svc") != ["NXDOMAIN"]
    assert answers(world, "api.dev.svc") == answers(world, "dev.svc") == ["NXDOMAIN"]


def test_namespaces_can_be_chosen_by_label_and_the_choice_follows_the_labels() -> None:
    world = World(replace(SETTINGS, namespace_labels=parse_label_selector("expose=yes")))
    world.put(service())
    assert answers(world, "web.prod.svc") == ["NXDOMAIN"]
    world.namespace("prod", expose="yes")
    world.zone.flush()
    assert answers(world, "web.prod.svc") != ["NXDOMAIN"]


def test_services_can_be_chosen_by_label() -> None:
    world = World(replace(SETTINGS, labels=parse_label_selector("exposed in (true)")))
    world.put(service())
    assert answers(world, "web.prod.svc") == ["NXDOMAIN"]


def test_services_without_endpoints_can_be_left_out() -> None:
    world = World(replace(SETTINGS, empty_services=False))
    world.put(service())
    assert answers(world, "web.prod.svc") == ["NXDOMAIN"]
    world.put(piece(endpoint("10.244.0.1")))
    assert answers(world, "web.prod.svc") == ["web.prod.svc A 10.96.0.7"]


def test_without_endpoints_only_services_have_names() -> None:
    world = World(replace(SETTINGS, endpoints=False))
    world.put(service(), piece(endpoint("10.244.0.1", hostname="a")))
    assert answers(world, "web.prod.svc") != ["NXDOMAIN"]
    assert answers(world, "a.web.prod.svc") == ["NXDOMAIN"]


def test_an_alias_does_not_name_what_the_settings_keep_back() -> None:
    chosen = replace(SETTINGS, namespaces=frozenset({"prod"}))
    for settings in (chosen, replace(SETTINGS, endpoints=False)):
        world = World(settings)
        world.namespace("hidden")
        world.put(service("set", namespace="hidden", clusterIP="None", clusterIPs=["None"]))
        world.put(external("alias", "set.hidden.svc.cluster.local"))
        assert answers(world, "alias.prod.svc", "A") == ["NODATA"]
        assert answers(world, "alias.prod.svc", "SRV") == ["NODATA"]
        assert answers(world, "alias.prod.svc", "CNAME") != ["NODATA"]


def test_behind_an_acl_an_alias_tells_nothing_but_addresses() -> None:
    world = World(replace(SETTINGS, guarded=True))
    world.put(service(), external("alias", "web.prod.svc.cluster.local"))
    assert len(answers(world, "alias.prod.svc", "A")) == 2
    for rdtype in ("AAAA", "SRV", "MX"):
        assert answers(world, "alias.prod.svc", rdtype) == ["NODATA"]


def test_port_names_carry_addresses_in_blocks_that_were_cut_to_measure() -> None:
    world = World(replace(SETTINGS, endpoints=False))
    world.put(service())
    assert answers(world, "_http._tcp.web.prod.svc", "A") == ["_http._tcp.web.prod.svc A 10.96.0.7"]
