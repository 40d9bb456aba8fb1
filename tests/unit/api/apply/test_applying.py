"""Server-side apply: merging, conflicts, giving up, and moving over from kubectl's own apply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.apply import Application, track_creation, track_update, zero
from fairway.api.apply import apply as applied
from fairway.api.errors import StatusError
from fairway.api.resources import CONFIG_MAPS, DEPLOYMENTS, PODS, SERVICES, Resource
from fairway.api.schema.conform import conform
from fairway.api.schema.shape import shape_of

Obj = dict[str, Any]

NOW = "2026-01-01T00:00:00Z"


def application(
    configuration: Obj,
    manager: str = "alice",
    *,
    resource: Resource = CONFIG_MAPS,
    force: bool = False,
    now: str = NOW,
) -> Application:
    whole = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "a"}}
    return Application(resource, {**whole, **configuration}, manager, now, force)


def apply(request: Application, live: Obj) -> Obj:
    """Apply, and read the result as the server does before it is stored."""
    resource = request.resource
    return conform(applied(request, live), shape_of(resource.api_version, resource.kind))[0]


def first(configuration: Obj, manager: str = "alice", resource: Resource = CONFIG_MAPS) -> Obj:
    """An object that comes to be by being applied."""
    new = apply(application(configuration, manager, resource=resource), zero(resource))
    new["metadata"]["uid"] = "u"
    return new


def owners(obj: Obj) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", ())}


def refusal(
    configuration: Obj, live: Obj, manager: str = "bob", resource: Resource = CONFIG_MAPS
) -> StatusError:
    with pytest.raises(StatusError) as caught:
        apply(application(configuration, manager, resource=resource), live)
    return caught.value


def test_an_applier_owns_just_what_it_applied() -> None:
    assert owners(first({"data": {"k": "1"}})) == {"alice": {"f:data": {"f:k": {}}}}


def test_what_is_no_longer_applied_goes() -> None:
    live = first({"data": {"k": "1", "l": "2"}})
    new = apply(application({"data": {"k": "1"}}), live)
    assert new["data"] == {"k": "1"}
    assert owners(new) == {"alice": {"f:data": {"f:k": {}}}}


def test_what_someone_else_also_applied_stays() -> None:
    live = first({"data": {"k": "1", "l": "2"}})
    live = apply(application({"data": {"l": "2"}}, "bob"), live)
    new = apply(application({"data": {"k": "1"}}), live)
    assert new["data"] == {"k": "1", "l": "2"}


def test_what_nobody_applied_stays() -> None:
    live = first({"data": {"k": "1"}})
    live["data"]["other"] = "x"
    new = apply(application({"data": {"k": "2"}}), live)
    assert new["data"] == {"k": "2", "other": "x"}


def test_another_value_is_a_conflict_that_names_owner_and_field() -> None:
    error = refusal({"data": {"k": "2"}}, first({"data": {"k": "1"}}))
    assert error.code == 409
    assert error.message == 'Apply failed with 1 conflict: conflict with "alice": .data.k'
    assert error.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "alice"', "field": ".data.k"}]
    }


def test_conflicts_with_several_owners_are_listed_by_owner() -> None:
    live = first({"data": {"k": "1"}}, "carol")
    live = apply(application({"data": {"l": "1", "m": "1"}}), live)
    error = refusal({"data": {"k": "2", "l": "2", "m": "2"}}, live)
    assert error.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "alice":\n- .data.l\n- .data.m\nconflicts with "carol":\n- .data.k'
    )


def test_a_conflict_with_an_update_names_its_version_and_subresource() -> None:
    live: Obj = {"metadata": {"name": "a", "uid": "u"}, "data": {"k": "1"}}
    track_creation(CONFIG_MAPS, live, "tool", NOW, {})
    assert refusal({"data": {"k": "2"}}, live).message.endswith('conflict with "tool" using v1: .data.k')
    changed: Obj = {"metadata": {"name": "a", "uid": "u"}, "data": {"k": "3"}}
    track_update(CONFIG_MAPS, changed, live, "tool", NOW, {}, "status")
    text = 'conflict with "tool" with subresource "status" using v1: .data.k'
    assert refusal({"data": {"k": "2"}}, changed).message.endswith(text)


def test_the_same_value_is_shared_without_conflict_and_without_a_time() -> None:
    new = apply(application({"data": {"k": "1"}}, "bob"), first({"data": {"k": "1"}}))
    bob, alice = new["metadata"]["managedFields"]
    assert (bob["manager"], bob.get("time")) == ("bob", None)
    assert (alice["manager"], alice["time"]) == ("alice", NOW)


def test_force_takes_the_field_over() -> None:
    live = first({"data": {"k": "1", "l": "1"}})
    new = apply(application({"data": {"k": "2"}}, "bob", force=True), live)
    assert new["data"] == {"k": "2", "l": "1"}
    assert owners(new) == {"bob": {"f:data": {"f:k": {}}}, "alice": {"f:data": {"f:l": {}}}}


def test_an_atomic_map_is_one_value() -> None:
    live = first({"spec": {"selector": {"a": "1", "b": "2"}}}, resource=SERVICES)
    error = refusal({"spec": {"selector": {"a": "1"}}}, live, resource=SERVICES)
    assert error.message.endswith('conflict with "alice": .spec.selector')
    new = apply(application({"spec": {"selector": {"c": "3"}}}, resource=SERVICES), live)
    assert new["spec"]["selector"] == {"c": "3"}


def test_items_of_keyed_lists_merge_and_missing_keys_have_their_default() -> None:
    live = first({"spec": {"ports": [{"name": "a", "port": 53}]}}, resource=SERVICES)
    udp = {"name": "b", "port": 53, "protocol": "UDP"}
    new = apply(application({"spec": {"ports": [udp]}}, "bob", resource=SERVICES), live)
    assert [port["name"] for port in new["spec"]["ports"]] == ["a", "b"]
    same = {"port": 53, "protocol": "TCP", "targetPort": 1}
    new = apply(application({"spec": {"ports": [same]}}, "bob", resource=SERVICES), new)
    assert new["spec"]["ports"] == [{"name": "a", "port": 53, "targetPort": 1, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        ("abc", "b", "abc"),
        ("abc", "d", "abcd"),
        ("abc", "ca", "bca"),
        ("abc", "cb", "acb"),
        ("ab", "xb", "axb"),
        ("", "ba", "ba"),
        ("abcd", "xdy", "abcxdy"),
    ],
)
def test_applied_items_keep_their_order_and_live_ones_theirs(live: str, applied: str, expected: str) -> None:
    def containers(names: str) -> Obj:
        return {"spec": {"containers": [{"name": name} for name in names]}}

    before = {**containers(live), "metadata": {"name": "a", "uid": "u"}}
    track_creation(PODS, before, "tool", NOW, {})
    new = apply(application(containers(applied), resource=PODS), before)
    assert "".join(container["name"] for container in new["spec"]["containers"]) == expected


def test_items_of_sets_are_owned_one_by_one() -> None:
    metadata = {"name": "a", "finalizers": ["x/a", "x/b"]}
    live = first({"metadata": metadata})
    live = apply(application({"metadata": {"name": "a", "finalizers": ["x/b", "x/c"]}}, "bob"), live)
    assert live["metadata"]["finalizers"] == ["x/a", "x/b", "x/c"]
    new = apply(application({"metadata": {"name": "a"}}), live)
    assert new["metadata"]["finalizers"] == ["x/b", "x/c"]


def test_giving_up_a_field_without_another_owner_removes_the_list_item_with_it() -> None:
    ports = [{"name": "a", "port": 53}, {"name": "b", "port": 80}]
    live = first({"spec": {"ports": ports}}, resource=SERVICES)
    new = apply(application({"spec": {"ports": ports[:1]}}, resource=SERVICES), live)
    assert new["spec"]["ports"] == ports[:1]


def test_giving_up_leaves_the_value_to_those_who_updated_it_since() -> None:
    live = first({"spec": {"replicas": 2}}, resource=DEPLOYMENTS)
    scaled = {**live, "metadata": dict(live["metadata"]), "spec": {**live["spec"], "replicas": 5}}
    track_update(DEPLOYMENTS, scaled, live, "scaler", NOW, {})
    new = apply(application({"spec": {"paused": True}}, resource=DEPLOYMENTS), scaled)
    assert new["spec"]["replicas"] == 5


def test_the_first_apply_to_an_untracked_object_leaves_the_rest_to_the_time_before() -> None:
    live = {"metadata": {"name": "a", "uid": "u"}, "data": {"k": "1", "l": "1"}}
    error = refusal({"data": {"k": "2"}}, live)
    assert 'conflict with "before-first-apply" using v1' in error.message
    new = apply(application({"data": {"k": "1"}}), live)
    assert owners(new)["before-first-apply"] == {"f:data": {".": {}, "f:k": {}, "f:l": {}}}


LAST = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1"}}'
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def client_side_applied(value: str) -> Obj:
    obj: Obj = {
        "metadata": {"name": "a", "uid": "u", "annotations": {ANNOTATION: LAST}},
        "data": {"k": value},
    }
    track_creation(CONFIG_MAPS, obj, "kubectl-client-side-apply", NOW, {})
    return obj


def test_kubectl_may_change_what_its_own_annotation_says_it_applied() -> None:
    new = apply(application({"data": {"k": "2"}}, "kubectl"), client_side_applied("1"))
    assert new["data"] == {"k": "2"}
    assert '"k":"2"' in new["metadata"]["annotations"][ANNOTATION]


def test_kubectl_may_not_change_what_was_changed_since_its_annotation() -> None:
    error = refusal({"data": {"k": "2"}}, client_side_applied("other"), "kubectl")
    assert 'conflict with "kubectl-client-side-apply" using v1: .data.k' in error.message


def test_others_than_kubectl_find_a_conflict_in_spite_of_the_annotation() -> None:
    assert refusal({"data": {"k": "2"}}, client_side_applied("1"), "flux").code == 409


@pytest.mark.parametrize(
    ("resource", "configuration", "text"),
    [
        (CONFIG_MAPS, {"bogus": 1}, ".bogus: field not declared in schema"),
        (
            SERVICES,
            {"spec": {"ports": [{"port": 53}, {"port": 53}]}},
            '.spec.ports: duplicate entries for key [port=53,protocol="TCP"]',
        ),
        (
            SERVICES,
            {"spec": {"ports": [{"name": "x"}]}},
            '.spec.ports: element 0: associative list with keys has an element that omits key field "port"'
            " (and doesn't have default value)",
        ),
        (CONFIG_MAPS, {"data": {"k": 1}}, ".data.k: expected string, got &value.valueUnstructured{Value:1}"),
        (CONFIG_MAPS, {"data": ["x"]}, ".data: expected map, got &{[x]}"),
        (
            DEPLOYMENTS,
            {"spec": {"replicas": "3"}},
            '.spec.replicas: expected numeric (int or float), got &value.valueUnstructured{Value:"3"}',
        ),
        (
            CONFIG_MAPS,
            {"a": 1, "b": 2},
            "errors:\n  .a: field not declared in schema\n  .b: field not declared in schema",
        ),
    ],
)
def test_a_configuration_that_does_not_fit_the_kind_is_refused(
    resource: Resource, configuration: Obj, text: str
) -> None:
    error = refusal(configuration, zero(resource), resource=resource)
    assert error.code == 400
    assert error.message.startswith("failed to create typed patch object (/a; ")
    assert error.message.endswith(f"Kind={resource.kind}): {text}")


def test_metadata_that_is_none_is_refused_like_any_other_field() -> None:
    error = refusal({"metadata": 5}, zero(CONFIG_MAPS))
    assert error.message.endswith("(/; /v1, Kind=ConfigMap): .metadata: expected map, got &{5}")


def test_another_kind_or_ownership_in_the_configuration_is_refused() -> None:
    assert refusal({"kind": "Secret"}, zero(CONFIG_MAPS)).message == "invalid object type: /v1, Kind=Secret"
    entry = {"metadata": {"name": "a", "managedFields": []}}
    assert refusal(entry, zero(CONFIG_MAPS)).message == "metadata.managedFields must be nil"


VALUES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("123"), max_size=4)
PORTS = st.lists(
    st.fixed_dictionaries(
        {"port": st.sampled_from([53, 80]), "protocol": st.sampled_from(["TCP", "UDP"])},
        optional={"name": st.sampled_from("xy")},
    ),
    max_size=4,
    unique_by=lambda port: (port["port"], port["protocol"]),
)


def configurations(data: dict[str, str]) -> Obj:
    return {"data": data} if data else {}


@given(VALUES)
def test_applying_the_same_again_changes_nothing(data: dict[str, str]) -> None:
    live = first(configurations(data))
    again = apply(application(configurations(data), now="2030-01-01T00:00:00Z"), live)
    assert again == live


@given(PORTS)
def test_applying_the_same_list_again_changes_nothing(ports: list[Obj]) -> None:
    live = first({"spec": {"ports": ports}}, resource=SERVICES)
    again = apply(
        application({"spec": {"ports": ports}}, resource=SERVICES, now="2030-01-01T00:00:00Z"), live
    )
    assert again == live


@given(VALUES, VALUES)
def test_the_last_configuration_of_a_lone_applier_is_all_there_is(
    before: dict[str, str], after: dict[str, str]
) -> None:
    live = first(configurations(before))
    new = apply(application(configurations(after)), live)
    assert (new.get("data") or {}) == after


@given(PORTS, PORTS)
def test_the_last_list_of_a_lone_applier_is_all_there_is_in_its_order(
    before: list[Obj], after: list[Obj]
) -> None:
    live = first({"spec": {"ports": before}}, resource=SERVICES)
    new = apply(application({"spec": {"ports": after}}, resource=SERVICES), live)
    assert [(p["port"], p["protocol"]) for p in new["spec"].get("ports") or ()] == [
        (p["port"], p["protocol"]) for p in after
    ]


@given(VALUES, VALUES, VALUES)
def test_with_force_the_applier_gets_its_values_and_others_keep_the_rest(
    alice: dict[str, str], bob: dict[str, str], later: dict[str, str]
) -> None:
    live = first(configurations(alice))
    live = apply(application(configurations(bob), "bob", force=True), live)
    new = apply(application(configurations(later), force=True), live)
    assert (new.get("data") or {}) == {**bob, **later}


@given(VALUES, VALUES)
def test_a_conflict_is_found_just_where_values_differ(alice: dict[str, str], bob: dict[str, str]) -> None:
    live = first(configurations(alice))
    contested = {key for key in alice.keys() & bob.keys() if alice[key] != bob[key]}
    if not contested:
        assert (apply(application(configurations(bob), "bob"), live).get("data") or {}) == {**alice, **bob}
        return
    causes = (refusal(configurations(bob), live).details or {})["causes"]
    assert {cause["field"] for cause in causes} == {f".data.{key}" for key in contested}
