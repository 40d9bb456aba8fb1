"""Forms of answers, paths and methods that there are not, options that make no sense."""

from __future__ import annotations

import json

import pytest
import yaml

from fairway.apiserver.options import duration_fault
from fairway.httpserver import Peer

from .memory_server import Server

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/gadgets", 404),
        ("GET", "/api/v2/pods", 404),
        ("GET", "/apis/apps/v9/deployments", 404),
        ("GET", "/api/v1/configmaps/a", 404),
        ("GET", f"{MAPS}/a/b/c", 404),
        ("GET", f"{MAPS}/a/status", 404),
        ("GET", "/apis/authentication.k8s.io/v1/tokenreviews/x", 404),
        ("GET", "/apis/authentication.k8s.io/v1/tokenreviews", 405),
        ("PUT", MAPS, 405),
        ("POST", f"{MAPS}/a", 405),
        ("POST", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("DELETE", "/api/v1/namespaces/default/services/a/status", 405),
        ("HEAD", MAPS, 405),
        ("OPTIONS", f"{MAPS}/a", 405),
        ("POST", "/apis", 405),
        ("POST", "/version", 405),
    ],
)
async def test_a_path_that_is_none_is_not_found_and_a_method_that_it_has_not_is_not_allowed(
    server: Server, method: str, path: str, status: int
) -> None:
    answer = await server.ask(method, path)
    assert answer.status == status
    assert answer.obj["details"] == {}


async def test_a_group_that_is_none_is_no_page_at_all(server: Server) -> None:
    answer = await server.ask("GET", "/apis/example.com/v1/things")
    assert (answer.status, answer.text) == (404, "404 page not found\n")


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("", 200),
        ("*/*", 200),
        ("application/json", 200),
        ("application/vnd.kubernetes.protobuf", 200),
        ("application/vnd.kubernetes.protobuf, application/json", 200),
        ("text/html", 406),
        ("text/html, */*;q=0.1", 200),
        ("application/json;as=Gadget;g=meta.k8s.io;v=v1", 406),
        ("application/json;as=Gadget;g=meta.k8s.io;v=v1, application/json", 200),
    ],
)
async def test_what_a_client_can_not_read_is_not_sent(server: Server, accept: str, status: int) -> None:
    assert (await server.ask("GET", MAPS, headers={"accept": accept})).status == status


@pytest.mark.parametrize("path", ["/", "/version", "/openapi/v3"])
async def test_what_comes_in_one_form_only_is_never_unacceptable(server: Server, path: str) -> None:
    assert (await server.ask("GET", path, headers={"accept": "text/html"})).status == 200


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"])
async def test_discovery_comes_in_the_form_asked_for(server: Server, path: str) -> None:
    plain = await server.ask("GET", path)
    answer = await server.ask("GET", path, headers={"accept": "application/yaml"})
    assert answer.content_type == "application/yaml"
    assert yaml.safe_load(answer.text) == plain.obj
    for accept in ("text/html", "application/json;as=Table;g=meta.k8s.io;v=v1"):
        assert (await server.ask("GET", path, headers={"accept": accept})).status == 406
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1, application/json"
    assert (await server.ask("GET", path, headers={"accept": accept})).obj == plain.obj


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
            "Discovery",
        ),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", ""),
        ("application/json, application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", ""),
        ("*/*", ""),
        ("", ""),
    ],
)
async def test_only_those_who_know_aggregated_discovery_get_it(
    server: Server, accept: str, kind: str
) -> None:
    answer = await server.ask("GET", "/apis", headers={"accept": accept})
    assert answer.obj["kind"] == f"APIGroup{kind}List"


async def test_the_root_lists_the_paths_that_there_are(server: Server) -> None:
    paths = (await server.ask("GET", "/")).obj["paths"]
    assert paths == sorted(paths)
    assert {"/api/v1", "/apis/apps/v1", "/readyz/ping", "/version"} <= set(paths)


async def test_the_best_of_what_a_client_accepts_is_sent(server: Server) -> None:
    accept = "application/yaml;q=0.1, application/json;as=Table;g=meta.k8s.io;v=v1beta1;q=0.9"
    answer = await server.ask("GET", MAPS, headers={"accept": accept})
    assert (answer.obj["kind"], answer.obj["apiVersion"]) == ("Table", "meta.k8s.io/v1beta1")


async def test_objects_and_refusals_come_in_yaml_if_asked(server: Server) -> None:
    await server.ask("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "1", "m": "x\ny\n", "t": "yes"}})
    answer = await server.ask("GET", f"{MAPS}/a", headers={"accept": "application/yaml"})
    assert answer.content_type == "application/yaml"
    assert 'k: "1"\n  m: |\n    x\n    y\n  t: "yes"\n' in answer.text
    assert yaml.safe_load(answer.text)["data"] == {"k": "1", "m": "x\ny\n", "t": "yes"}
    missing = await server.ask("GET", f"{MAPS}/none", headers={"accept": "application/yaml"})
    assert yaml.safe_load(missing.text)["code"] == 404


async def test_people_get_indented_answers(server: Server) -> None:
    plain = await server.ask("GET", MAPS)
    for path, headers in ((f"{MAPS}?pretty=true", {}), (MAPS, {"user-agent": "curl/8.0"})):
        pretty = await server.ask("GET", path, headers=headers)
        assert pretty.text == json.dumps(plain.obj, indent=2)
    assert (
        await server.ask("GET", f"{MAPS}?pretty=false", headers={"user-agent": "curl/8"})
    ).text == plain.text


async def test_the_shape_of_a_list_is_not_that_of_an_object(server: Server) -> None:
    accept = {"accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
    answer = await server.ask("GET", "/apis/apps/v1/deployments", headers=accept)
    assert answer.status == 406
    assert answer.obj["message"].endswith("the requested object is a list (*apps.DeploymentList)")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("dryRun=Some", "dryRun"),
        ("dryRun=", "dryRun"),
        ("fieldValidation=Maybe", "fieldValidation"),
        (f"fieldManager={'a' * 129}", "fieldManager"),
        ("fieldManager=a%0Ab", "fieldManager"),
    ],
)
async def test_options_that_make_no_sense_are_named(server: Server, query: str, field: str) -> None:
    answer = await server.ask("POST", f"{MAPS}?{query}", {"metadata": {"name": "a"}})
    assert answer.status == 422
    assert answer.obj["details"]["kind"] == "CreateOptions"
    assert [cause["field"] for cause in answer.obj["details"]["causes"]] == [field]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("5s", ""),
        ("1h2m3.5s", ""),
        ("0", ""),
        ("-1s", ""),
        ("x", 'invalid duration "x"'),
        ("", 'invalid duration ""'),
        ("5", 'missing unit in duration "5"'),
        ("5q", 'unknown unit "q" in duration "5q"'),
    ],
)
def test_durations_are_read_as_go_reads_them(text: str, fault: str) -> None:
    assert duration_fault(text) == fault


async def test_without_credentials_only_health_and_version_are_answered(server: Server) -> None:
    nobody = Peer("127.0.0.1")
    for path, status in (("/readyz", 200), ("/version", 200), ("/api", 401), (MAPS, 401)):
        assert (await server.ask("GET", path, peer=nobody)).status == status


async def test_a_server_about_to_stop_is_alive_but_not_ready(server: Server) -> None:
    server.application.stopping = True
    assert (await server.ask("GET", "/livez")).status == 200
    assert (await server.ask("GET", "/readyz")).status == 500
    assert (await server.ask("GET", "/readyz/none")).status == 404


async def test_warnings_are_cut_to_what_clients_read_of_headers(server: Server) -> None:
    unknown = {f"{number:02}{'x' * 300}": 1 for number in range(30)}
    answer = await server.ask("POST", MAPS, {"metadata": {"name": "a"}, **unknown})
    assert len(answer.warnings) == 16
    assert all(len(text) == len('299 - ""') + 256 + len("\\") for text in answer.warnings)


async def test_what_is_never_listed_is_no_table(server: Server) -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    only = "application/json;as=Table;g=meta.k8s.io;v=v1"
    either = await server.ask("POST", path, {}, {"accept": f"{only}, application/json"})
    assert either.obj["kind"] == "SelfSubjectReview"
    assert (await server.ask("POST", path, {}, {"accept": only})).status == 406
