"""GET of a collection, narrowed by namespace, labels and fields, a page at a time if asked."""

from __future__ import annotations

import base64
from collections.abc import Callable

import msgspec

from fairway.api.errors import bad_request, expired
from fairway.api.kind import Kind, Obj
from fairway.api.selectors import SelectorError, parse_field_selector, parse_label_selector
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.encoding import encode
from fairway.apiserver.entry import Entry
from fairway.apiserver.respond import list_answer
from fairway.httpserver import Response

Matches = Callable[[Entry], bool]


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
            fields = parse_field_selector(text)
            check_fields(call.kind, [field for field, _, _ in fields.requirements])
            tests.append(
                lambda entry: all(
                    (entry.field(field) == value) == (operator == "=")
                    for field, operator, value in fields.requirements
                )
            )
    except SelectorError as error:
        raise bad_request(str(error)) from error
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda entry: all(test(entry) for test in tests)


def check_fields(kind: Kind, names: list[str]) -> None:
    for name in names:
        if name not in kind.fields and name not in ("metadata.name", "metadata.namespace"):
            raise bad_request(f"field label not supported: {name}")


def selected(api: Api, call: Call) -> list[Entry]:
    matches = matcher(call)
    entries = api.store.bucket(call.kind.resource).in_order(call.namespace)
    return list(filter(matches, entries)) if matches else list(entries)


async def list_objects(api: Api, call: Call) -> Response:
    entries = selected(api, call)
    metadata: Obj = {"resourceVersion": str(max(api.store.revision, 1))}
    limit = int(call.params.get("limit") or 0)
    if token := call.params.get("continue"):
        after = continue_after(token)
        entries = [entry for entry in entries if entry.key > after]
    if limit and len(entries) > limit:
        metadata["continue"] = continue_token(entries[limit - 1].key)
        metadata["remainingItemCount"] = len(entries) - limit
        entries = entries[:limit]
    return list_answer(call, entries, metadata)


def continue_token(key: str) -> str:
    return base64.urlsafe_b64encode(encode({"after": key})).decode().rstrip("=")


def continue_after(token: str) -> str:
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        after = msgspec.json.decode(text)["after"]
    except (ValueError, KeyError, TypeError, msgspec.DecodeError) as error:
        raise expired("continue key is not valid") from error
    return str(after)
