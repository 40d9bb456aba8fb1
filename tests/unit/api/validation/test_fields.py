"""Field errors read as Kubernetes' own, alone and gathered into a 422."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.validation.fields import (
    FieldError,
    aggregated,
    duplicate,
    forbidden_field,
    internal_fault,
    invalid,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
    to_status_causes,
    too_long,
    too_many,
    value_not_found,
)

RANGE = "must be between 1 and 65535, inclusive"


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (invalid_value("spec.port", 0, RANGE), "FieldValueInvalid", f"spec.port: Invalid value: 0: {RANGE}"),
        (invalid_value("spec", None, "no"), "FieldValueInvalid", "spec: Invalid value: null: no"),
        (invalid_value("a", {"b": "c"}, ""), "FieldValueInvalid", 'a: Invalid value: {"b":"c"}'),
        (invalid_value("a", True, "no"), "FieldValueInvalid", "a: Invalid value: true: no"),
        (required("a.b"), "FieldValueRequired", "a.b: Required value"),
        (required("a.b", "give it"), "FieldValueRequired", "a.b: Required value: give it"),
        (duplicate("a[1]", "x"), "FieldValueDuplicate", 'a[1]: Duplicate value: "x"'),
        (duplicate("a[1]", 7, "twice"), "FieldValueDuplicate", "a[1]: Duplicate value: 7: twice"),
        (forbidden_field("a", "not now"), "FieldValueForbidden", "a: Forbidden: not now"),
        (value_not_found("a", "v"), "FieldValueNotFound", 'a: Not found: "v"'),
        (too_long("a", 128), "FieldValueTooLong", "a: Too long: may not be more than 128 bytes"),
        (too_long("a", 1), "FieldValueTooLong", "a: Too long: may not be more than 1 byte"),
        (too_many("a", 9, 8), "FieldValueTooMany", "a: Too many: 9: must have at most 8 items"),
        (too_many("a", 2, 1), "FieldValueTooMany", "a: Too many: 2: must have at most 1 item"),
        (internal_fault("a", "broken"), "InternalError", "a: Internal error: broken"),
    ],
)
def test_each_fault_has_its_reason_and_its_words(error: FieldError, reason: str, message: str) -> None:
    assert (error.reason, error.message()) == (reason, message)


def test_supported_values_of_a_set_are_sorted() -> None:
    error = not_supported("type", "X", {"NodePort", "ClusterIP"})
    assert error.message() == 'type: Unsupported value: "X": supported values: "ClusterIP", "NodePort"'


def test_supported_values_of_a_list_keep_their_order() -> None:
    error = not_supported("policy", "X", ["Always", "OnFailure", "Never"])
    assert error.text() == 'Unsupported value: "X": supported values: "Always", "OnFailure", "Never"'


def test_a_value_that_nothing_can_be_put_in_place_of_names_no_values() -> None:
    assert not_supported("policy", "X", []).text() == 'Unsupported value: "X"'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", '"plain"'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("a\nb\tc\x00\x7f", '"a\\nb\\tc\\x00\\x7f"'),
        ("zürich", '"zürich"'),
        ("a\u200bb", '"a\\u200bb"'),
        ("\U000e0001", '"\\U000e0001"'),
        (["<a>", "b&c"], '["\\u003ca\\u003e","b\\u0026c"]'),
        (1.5, "1.5"),
    ],
)
def test_values_are_written_as_go_writes_them(value: Any, shown: str) -> None:
    assert invalid_value("f", value, "").text() == f"Invalid value: {shown}"


def test_one_complaint_for_every_reason() -> None:
    assert [error.detail for error in invalid_for_each("f", "v", ["a", "b"])] == ["a", "b"]


def test_several_complaints_are_listed_in_brackets_and_each_once() -> None:
    errors = [required("a"), required("b"), required("a")]
    assert aggregated(errors) == "[a: Required value, b: Required value]"
    assert aggregated([required("a"), required("a")]) == "a: Required value"


def test_causes_list_every_complaint_with_its_field() -> None:
    assert to_status_causes([too_long("metadata.annotations", 5)]) == [
        {
            "reason": "FieldValueTooLong",
            "message": "Too long: may not be more than 5 bytes",
            "field": "metadata.annotations",
        }
    ]


def test_the_answer_is_a_422_that_names_kind_and_object() -> None:
    body = invalid("Deployment", "apps", "w", [required("spec.selector")]).body()
    assert body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Deployment.apps "w" is invalid: spec.selector: Required value',
        "reason": "Invalid",
        "details": {
            "name": "w",
            "group": "apps",
            "kind": "Deployment",
            "causes": [
                {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.selector"}
            ],
        },
        "code": 422,
    }
