"""Objects come out as Go's decoding and encoding leave them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from fairway.api.schema.conform import conform
from fairway.api.schema.shape import shape_named, shape_of
from fairway.api.schema.strict import StrictDecodingError
from fairway.api.schema.values import Undecodable

Obj = dict[str, Any]


def stored(struct: str, obj: Obj) -> Obj:
    return conform(deepcopy(obj), shape_named(struct))[0]


def fault(struct: str, obj: Obj) -> str:
    with pytest.raises(Undecodable) as raised:
        stored(struct, obj)
    return str(raised.value)


@pytest.mark.parametrize(
    ("struct", "given", "kept"),
    [
        ("meta.v1.ObjectMeta", {"name": "a", "labels": {}, "annotations": None}, {"name": "a"}),
        ("meta.v1.ObjectMeta", {"name": "", "finalizers": [], "generation": 0}, {}),
        ("meta.v1.ObjectMeta", {"labels": {"a": None}}, {"labels": {"a": ""}}),
        ("meta.v1.ObjectMeta", {"creationTimestamp": None}, {}),
        ("meta.v1.ObjectMeta", {"finalizers": [None]}, {"finalizers": [""]}),
        ("core.v1.Service", {}, {"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}}),
        ("core.v1.Service", {"spec": None}, {"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}}),
        ("core.v1.ServiceSpec", {"sessionAffinityConfig": {}}, {"sessionAffinityConfig": {}}),
        ("core.v1.ServiceSpec", {"sessionAffinityConfig": None}, {}),
        (
            "core.v1.ServiceSpec",
            {"allocateLoadBalancerNodePorts": False},
            {"allocateLoadBalancerNodePorts": False},
        ),
        ("core.v1.ServiceSpec", {"publishNotReadyAddresses": False}, {}),
        ("core.v1.ServiceSpec", {"ipFamilyPolicy": ""}, {"ipFamilyPolicy": ""}),
        ("core.v1.ServicePort", {"name": "a"}, {"name": "a", "port": 0}),
        ("core.v1.ServicePort", {"port": 80, "targetPort": 0}, {"port": 80}),
        ("core.v1.Container", {"name": "c"}, {"name": "c", "resources": {}}),
        ("core.v1.EnvVar", {"name": "a", "value": ""}, {"name": "a"}),
        (
            "discovery.v1.EndpointSlice",
            {},
            {"metadata": {}, "addressType": "", "endpoints": None, "ports": None},
        ),
        ("discovery.v1.EndpointConditions", {"ready": False}, {"ready": False}),
        ("apps.v1.StatefulSetStatus", {}, {"replicas": 0, "availableReplicas": 0}),
        (
            "core.v1.PodCondition",
            {"type": "a"},
            {"type": "a", "status": "", "lastProbeTime": None, "lastTransitionTime": None},
        ),
        ("core.v1.Secret", {"data": {"a": None, "b": ""}}, {"metadata": {}, "data": {"a": None, "b": ""}}),
        ("core.v1.Secret", {"data": {"a": "dmFs\ndWU="}}, {"metadata": {}, "data": {"a": "dmFsdWU="}}),
        ("core.v1.ResourceFieldSelector", {"resource": "a"}, {"resource": "a", "divisor": "0"}),
        (
            "core.v1.ResourceRequirements",
            {"limits": {"cpu": 2, "memory": "1024Mi"}},
            {"limits": {"cpu": "2", "memory": "1Gi"}},
        ),
        ("core.v1.EmptyDirVolumeSource", {"sizeLimit": "1024Mi"}, {"sizeLimit": "1024Mi"}),
        (
            "coordination.v1.LeaseSpec",
            {"renewTime": "2020-01-01T02:00:00.000000+02:00"},
            {"renewTime": "2020-01-01T00:00:00.000000Z"},
        ),
        (
            "meta.v1.ManagedFieldsEntry",
            {"fieldsV1": {"f:a": {}, "x": None}},
            {"fieldsV1": {"f:a": {}, "x": None}},
        ),
    ],
)
def test_nulls_and_empty_values_go_and_zero_values_appear_as_in_go(
    struct: str, given: Obj, kept: Obj
) -> None:
    assert stored(struct, given) == kept


@pytest.mark.parametrize(
    ("struct", "given", "text"),
    [
        ("core.v1.ServicePort", {"port": "80"}, "string into Go struct field ServicePort.port of type int32"),
        (
            "core.v1.ServicePort",
            {"port": 80.5},
            "number 80.5 into Go struct field ServicePort.port of type int32",
        ),
        (
            "core.v1.ServicePort",
            {"port": 2**31},
            "number 2147483648 into Go struct field ServicePort.port of type int32",
        ),
        ("core.v1.ServicePort", {"port": True}, "bool into Go struct field ServicePort.port of type int32"),
        (
            "core.v1.ServicePort",
            {"targetPort": True},
            "bool into Go struct field ServicePort.targetPort of type int32",
        ),
        (
            "core.v1.ServicePort",
            {"protocol": 5},
            "number into Go struct field ServicePort.protocol of type v1.Protocol",
        ),
        (
            "core.v1.ServicePort",
            {"appProtocol": 5},
            "number into Go struct field ServicePort.appProtocol of type string",
        ),
        (
            "core.v1.ServiceSpec",
            {"ports": {}},
            "object into Go struct field ServiceSpec.ports of type []v1.ServicePort",
        ),
        (
            "core.v1.ServiceSpec",
            {"ports": [1]},
            "number into Go struct field ServiceSpec.ports of type v1.ServicePort",
        ),
        (
            "core.v1.ServiceSpec",
            {"selector": []},
            "array into Go struct field ServiceSpec.selector of type map[string]string",
        ),
        (
            "core.v1.ServiceSpec",
            {"ipFamilies": [1]},
            "number into Go struct field ServiceSpec.ipFamilies of type v1.IPFamily",
        ),
        (
            "core.v1.ServiceSpec",
            {"ipFamilies": ""},
            "string into Go struct field ServiceSpec.ipFamilies of type []v1.IPFamily",
        ),
        (
            "core.v1.Service",
            {"spec": {"ports": [{"port": []}]}},
            "array into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            "core.v1.Service",
            {"metadata": "a"},
            "string into Go struct field Service.metadata of type v1.ObjectMeta",
        ),
        (
            "core.v1.ResourceRequirements",
            {"limits": 1},
            "number into Go struct field ResourceRequirements.limits of type v1.ResourceList",
        ),
        (
            "meta.v1.ObjectMeta",
            {"creationTimestamp": 1},
            "number into Go struct field ObjectMeta.creationTimestamp of type string",
        ),
        ("meta.v1.ObjectMeta", {"uid": 1}, "number into Go struct field ObjectMeta.uid of type types.UID"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_in_the_words_of_go(struct: str, given: Obj, text: str) -> None:
    assert fault(struct, given) == f"json: cannot unmarshal {text}"


@pytest.mark.parametrize(
    ("struct", "given", "text"),
    [
        ("core.v1.Secret", {"data": {"a": "1"}}, "illegal base64 data at input byte 0"),
        ("core.v1.Secret", {"data": {"a": "abcd!"}}, "illegal base64 data at input byte 4"),
        ("core.v1.Secret", {"data": {"a": "YQ="}}, "illegal base64 data at input byte 3"),
        ("core.v1.Secret", {"data": {"a": "YWI=x"}}, "illegal base64 data at input byte 4"),
        ("core.v1.Secret", {"data": {"a": "abcde"}}, "illegal base64 data at input byte 4"),
        (
            "core.v1.ResourceRequirements",
            {"limits": {"cpu": "1x"}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "core.v1.ResourceRequirements",
            {"limits": {"cpu": True}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "coordination.v1.LeaseSpec",
            {"renewTime": "yesterday"},
            'parsing time "yesterday" as "2006-01-02T15:04:05.000000Z07:00": '
            'cannot parse "yesterday" as "2006"',
        ),
    ],
)
def test_a_malformed_value_is_refused_in_the_words_of_go(struct: str, given: Obj, text: str) -> None:
    assert fault(struct, given) == text


def test_unknown_fields_are_pruned_silently_warned_of_or_refused() -> None:
    shape = shape_of("v1", "Service")
    given = {"metadata": {"bogus": 1}, "spec": {"ports": [{"port": 80, "prot": "TCP"}], "portz": {}}}
    errors = [
        'unknown field "metadata.bogus"',
        'unknown field "spec.ports[0].prot"',
        'unknown field "spec.portz"',
    ]
    pruned = {"metadata": {}, "spec": {"ports": [{"port": 80}]}, "status": {"loadBalancer": {}}}
    assert conform(given, shape, "Ignore") == (pruned, [])
    assert conform(given, shape, "Warn") == (pruned, errors)
    with pytest.raises(StrictDecodingError) as raised:
        conform(given, shape, "Strict")
    assert str(raised.value) == f"strict decoding error: {', '.join(errors)}"


def test_names_are_case_sensitive() -> None:
    assert conform({"Data": {"a": "b"}}, shape_of("v1", "ConfigMap"), "Warn") == (
        {"metadata": {}},
        ['unknown field "Data"'],
    )


def test_at_most_a_hundred_complaints_are_collected() -> None:
    given = {f"f{number}": 1 for number in range(150)}
    assert len(conform(given, shape_of("v1", "ConfigMap"), "Warn")[1]) == 100
