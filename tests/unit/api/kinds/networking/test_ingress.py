"""Ingresses and their classes: rules that the recordings don't cover."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kinds.networking import INGRESS, INGRESS_CLASS

Obj = dict[str, Any]
BACKEND: Obj = {"service": {"name": "a", "port": {"number": 80}}}


def ingress(**spec: Any) -> Obj:
    return {"metadata": {"name": "i"}, "spec": {"defaultBackend": BACKEND} | spec}


def path(text: str, kind: str = "Prefix") -> Obj:
    return {"http": {"paths": [{"path": text, "pathType": kind, "backend": BACKEND}]}}


def texts(errors: Any) -> list[str]:
    return [error.message() for error in errors]


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("/a/..", ["cannot end with '/..'"]),
        ("/a/.", ["cannot end with '/.'"]),
        ("/a//../b", ["must not contain '//'", "must not contain '/../'"]),
        ("a", ["must be an absolute path"]),
        ("/a..b/.c", []),
    ],
)
def test_paths_are_plain(text: str, details: list[str]) -> None:
    assert [error.detail for error in INGRESS.validate(ingress(rules=[path(text)]))] == details


def test_a_path_for_the_controller_alone_may_be_anything_absolute() -> None:
    assert INGRESS.validate(ingress(rules=[path("/a//b", "ImplementationSpecific")])) == []


def test_a_wildcard_stands_for_the_first_label_only() -> None:
    field = "spec.rules[0].host"
    for host in ("*", "a.*.com", "*.*.com"):
        (text,) = texts(INGRESS.validate(ingress(rules=[{"host": host}])))
        assert text.startswith(f'{field}: Invalid value: "{host}": a wildcard DNS-1123 subdomain')
    assert INGRESS.validate(ingress(rules=[{"host": "*.example.com"}])) == []


def test_a_secret_is_named_properly() -> None:
    (text,) = texts(INGRESS.validate(ingress(tls=[{"secretName": "A"}])))
    assert text.startswith('spec.tls[0].secretName: Invalid value: "A": a lowercase RFC 1123 subdomain')


def test_annotation_and_field_name_the_same_class() -> None:
    obj = ingress(ingressClassName="a")
    obj["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "b"}
    assert texts(INGRESS.validate(obj)) == [
        'annotations.kubernetes.io/ingress.class: Invalid value: "b": must match `ingressClassName` when '
        "both are "
        "specified"
    ]
    assert INGRESS.validate_update(obj, obj) == []


def test_a_reference_needs_kind_and_name() -> None:
    backend = {"resource": {"apiGroup": "A", "kind": "", "name": "a/b"}}
    found = texts(INGRESS.validate(ingress(defaultBackend=backend)))
    assert found[0].startswith('spec.defaultBackend.resource.apiGroup: Invalid value: "A"')
    assert found[1:] == [
        "spec.defaultBackend.resource.kind: Required value: kind is required",
        "spec.defaultBackend.resource.name: Invalid value: \"a/b\": may not contain '/'",
    ]


def ingress_class(**spec: Any) -> Obj:
    obj: Obj = {"metadata": {"name": "c"}, "spec": {"controller": "example.com/a"} | spec}
    INGRESS_CLASS.default(obj)
    return obj


def test_parameters_are_cluster_wide_unless_said_otherwise() -> None:
    obj = ingress_class(parameters={"kind": "P", "name": "p"})
    assert obj["spec"]["parameters"]["scope"] == "Cluster"
    assert INGRESS_CLASS.validate(obj) == []


def test_an_unknown_scope_is_refused() -> None:
    obj = ingress_class(parameters={"kind": "P", "name": "p", "scope": "Zone"})
    assert texts(INGRESS_CLASS.validate(obj)) == [
        'spec.parameters.scope: Unsupported value: "Zone": supported values: "Cluster", "Namespace"'
    ]


def test_the_namespace_of_parameters_is_a_label() -> None:
    obj = ingress_class(parameters={"kind": "P", "name": "p", "scope": "Namespace", "namespace": "A"})
    (text,) = texts(INGRESS_CLASS.validate(obj))
    assert text.startswith('spec.parameters.namespace: Invalid value: "A": a lowercase RFC 1123 label')
