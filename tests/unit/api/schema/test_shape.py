"""The table of shapes knows every served kind, and of each field how it is merged and stored."""

from __future__ import annotations

import pytest

from fairway.api import resources
from fairway.api.patches import strategic_merge_patch
from fairway.api.resources import Resource
from fairway.api.schema.shape import UnknownKind, shape_named, shape_names, shape_of

RESOURCES = [resource for resource in vars(resources).values() if isinstance(resource, Resource)]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.qualified)
def test_every_resource_has_a_shape_for_its_objects_and_for_lists_of_them(resource: Resource) -> None:
    shape = shape_of(resource.api_version, resource.kind)
    assert shape.fields["metadata"].shape is shape_named("meta.v1.ObjectMeta")
    assert shape_of(resource.api_version, f"{resource.kind}List").fields["items"].shape is shape


def test_every_shape_that_is_referred_to_exists() -> None:
    for name in shape_names():
        for field in shape_named(name).fields.values():
            assert field.shape is not None or "&" not in field.type


def test_a_kind_that_is_not_served_is_unknown() -> None:
    with pytest.raises(UnknownKind):
        shape_of("v1", "Gadget")
    with pytest.raises(UnknownKind):
        shape_of("v1", "Deployment")


def test_delete_options_are_the_same_in_every_group() -> None:
    assert shape_of("apps/v1", "DeleteOptions") is shape_of("v1", "DeleteOptions")


def test_service_ports_merge_by_port_and_are_applied_by_port_and_protocol() -> None:
    ports = shape_named("core.v1.ServiceSpec").fields["ports"]
    assert ports.merge_key == "port"
    assert ports.strategy == ("merge",)
    assert ports.list_type == "map"
    assert ports.list_keys == ("port", "protocol")
    assert ports.shape is not None
    assert ports.shape.fields["protocol"].default == "TCP"


def test_subsets_of_endpoints_are_one_value() -> None:
    subsets = shape_named("core.v1.Endpoints").fields["subsets"]
    assert subsets.list_type == "atomic"
    assert subsets.strategy == ()


def test_volumes_retain_only_the_keys_that_a_patch_names() -> None:
    assert shape_named("core.v1.PodSpec").fields["volumes"].strategy == ("merge", "retainKeys")


@pytest.mark.parametrize(
    ("struct", "field", "map_type"),
    [("core.v1.ServiceSpec", "selector", "atomic"), ("meta.v1.ObjectMeta", "labels", None)],
)
def test_maps_say_whether_they_are_applied_as_one_value(
    struct: str, field: str, map_type: str | None
) -> None:
    assert shape_named(struct).fields[field].map_type == map_type


def test_structs_say_whether_they_are_applied_as_one_value() -> None:
    assert shape_named("meta.v1.LabelSelector").map_type == "atomic"
    assert shape_named("core.v1.ServiceSpec").map_type == ""


def test_shapes_steer_strategic_merge() -> None:
    service = {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 443, "name": "b"}]}}
    patch = {"spec": {"ports": [{"port": 80, "name": "c"}]}}
    merged = strategic_merge_patch(service, patch, shape_of("v1", "Service"))
    assert merged["spec"]["ports"] == [{"port": 80, "name": "c"}, {"port": 443, "name": "b"}]
