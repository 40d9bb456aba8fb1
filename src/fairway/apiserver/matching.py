"""Which entries a list or a watch is about: by namespace, name, labels and fields."""

from __future__ import annotations

from collections.abc import Callable

from fairway.api.errors import bad_request
from fairway.api.kind import Kind
from fairway.api.selectors import FieldSelector, SelectorError, parse_field_selector, parse_label_selector
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.entry import Entry

Matches = Callable[[Entry], bool]

METADATA_FIELDS = ("metadata.name", "metadata.namespace")


def is_narrowed(call: Call) -> bool:
    """Whether selectors leave some of a collection out, so that nobody can tell how much is left of it."""
    return bool(call.params.get("labelSelector") or call.params.get("fieldSelector"))


def matcher(call: Call) -> Matches | None:
    """What an entry must satisfy, or None if everything does."""
    tests: list[Matches] = []
    if namespace := call.namespace:
        tests.append(lambda entry: entry.namespace == namespace)
    if name := call.name:
        tests.append(lambda entry: entry.name == name)
    try:
        if text := call.params.get("labelSelector"):
            labels = parse_label_selector(text)
            tests.append(lambda entry: labels.matches(entry.labels))
        if text := call.params.get("fieldSelector"):
            tests.append(_field_test(call.kind, parse_field_selector(text)))
    except SelectorError as error:
        raise bad_request(str(error)) from error
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda entry: all(test(entry) for test in tests)


def _field_test(kind: Kind, selector: FieldSelector) -> Matches:
    # Kinds without fields of their own take the namespace even where there is none.
    usual = METADATA_FIELDS if kind.resource.namespaced or not kind.fields else METADATA_FIELDS[:1]
    for name, _, _ in selector.requirements:
        if name not in kind.fields and name not in usual:
            raise bad_request(_unknown_field(kind, name))
    return lambda entry: all(
        (entry.field(kind, name) == value) == (operator == "=")
        for name, operator, value in selector.requirements
    )


def _unknown_field(kind: Kind, name: str) -> str:
    if kind.fields:
        return f"field label not supported: {name}"
    return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def selected(api: Api, call: Call, revision: int = 0) -> list[Entry]:
    """The entries that a call selects, now or as they were at a revision."""
    matches = matcher(call)
    bucket = api.store.bucket(call.kind.resource)
    entries = bucket.at(revision, call.namespace) if revision else bucket.in_order(call.namespace)
    return list(filter(matches, entries)) if matches else list(entries)
