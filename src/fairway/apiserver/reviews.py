"""Reviews: questions about users and permissions, asked by creating an object that is answered and not
kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fairway.api.errors import bad_request
from fairway.api.kind import Obj
from fairway.api.kinds.reviews import (
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
    TOKEN_REVIEW,
)
from fairway.api.metadata import timestamp
from fairway.api.validation.fields import ErrorList, invalid, invalid_value, required
from fairway.apiserver.api import Api
from fairway.apiserver.authorize import allows, rules
from fairway.apiserver.call import Call, User
from fairway.apiserver.decode import decode_object
from fairway.apiserver.options import check_writing
from fairway.apiserver.respond import object_answer
from fairway.httpserver import Response

Review = Callable[[Api, Call], Awaitable[Response]]


def user_info(user: User) -> Obj:
    info: Obj = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {name: list(values) for name, values in user.extra}
    return info


async def self_subject_review(api: Api, call: Call) -> Response:
    """`kubectl auth whoami`."""
    review = _asked(call)
    review["metadata"]["creationTimestamp"] = timestamp(api.committer.clock())
    review["status"] = {"userInfo": user_info(call.user)}
    return object_answer(call, review, 201)


async def token_review(api: Api, call: Call) -> Response:
    review = _asked(call)
    spec = review.get("spec") or {}
    if call.namespace:
        raise bad_request("namespace is not allowed on this type: " + call.namespace)
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    audiences = tuple(spec.get("audiences") or ())
    user = api.authenticator.by_token(spec["token"], audiences)
    if user is None:
        review["status"] = {"user": {}, "error": "invalid bearer token"}
    else:
        review["status"] = {
            "authenticated": True,
            "user": user_info(user),
            "audiences": list(audiences or api.tokens.audiences),
        }
    return object_answer(call, review, 201)


async def self_subject_access_review(api: Api, call: Call) -> Response:
    """`kubectl auth can-i`."""
    review = _asked(call)
    spec = review.setdefault("spec", {})
    _refuse_invalid(call, _attribute_errors(spec))
    review["status"] = {"allowed": allows(call.user, spec)}
    return object_answer(call, review, 201)


async def subject_access_review(api: Api, call: Call) -> Response:
    review = _asked(call)
    spec = review.setdefault("spec", {})
    _refuse_invalid(call, [*_attribute_errors(spec), *_subject_errors(spec)])
    if call.namespace:
        _demand_namespace(call, spec)
    extra = tuple((name, tuple(values)) for name, values in (spec.get("extra") or {}).items())
    subject = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)
    review["status"] = {"allowed": allows(subject, spec)}
    return object_answer(call, review, 201)


async def self_subject_rules_review(api: Api, call: Call) -> Response:
    review = _asked(call)
    namespace = (review.setdefault("spec", {})).get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    review["status"] = rules(call.user, namespace)
    return object_answer(call, review, 201)


def _asked(call: Call) -> Obj:
    check_writing(call)
    review = decode_object(call)
    review.pop("status", None)
    return review


def _attribute_errors(spec: Obj) -> ErrorList:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        return [invalid_value("spec.nonResourceAttributes", path, detail)]
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid_value("spec.resourceAttributes", None, detail)]
    return []


def _subject_errors(spec: Obj) -> ErrorList:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid_value("spec.user", "", "at least one of user or group must be specified")]


def _demand_namespace(call: Call, spec: Obj) -> None:
    asked = (spec.get("resourceAttributes") or {}).get("namespace", "")
    if spec.get("nonResourceAttributes") is not None:
        detail = "disallowed on this kind of request"
        _refuse_invalid(
            call, [invalid_value("spec.nonResourceAttributes", spec["nonResourceAttributes"], detail)]
        )
    if not asked:
        _refuse_invalid(call, [required("spec.resourceAttributes.namespace")])
    if asked != call.namespace:
        raise bad_request(
            f"spec.resourceAttributes.namespace must match namespace: {call.namespace}, found {asked}"
        )


def _refuse_invalid(call: Call, errors: ErrorList) -> None:
    if errors:
        resource = call.kind.resource
        raise invalid(resource.kind, resource.group, "", errors)


REVIEWS: Mapping[Any, Review] = {
    SELF_SUBJECT_REVIEW.resource: self_subject_review,
    TOKEN_REVIEW.resource: token_review,
    SELF_SUBJECT_ACCESS_REVIEW.resource: self_subject_access_review,
    SUBJECT_ACCESS_REVIEW.resource: subject_access_review,
    LOCAL_SUBJECT_ACCESS_REVIEW.resource: subject_access_review,
    SELF_SUBJECT_RULES_REVIEW.resource: self_subject_rules_review,
}
