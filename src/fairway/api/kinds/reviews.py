"""Kinds that are only ever posted: reviews, which are answered and not kept, and bindings."""

from __future__ import annotations

from fairway.api.kind import Kind
from fairway.api.resources import Resource


def _posted(group: str, plural: str, kind: str, *, namespaced: bool = False) -> Kind:
    return Kind(Resource(group, "v1", plural, kind, namespaced), verbs=("create",), stored=False)


def _authentication(plural: str, kind: str) -> Kind:
    return _posted("authentication.k8s.io", plural, kind)


def _authorization(plural: str, kind: str, *, namespaced: bool = False) -> Kind:
    return _posted("authorization.k8s.io", plural, kind, namespaced=namespaced)


BINDING = _posted("", "bindings", "Binding", namespaced=True)
SELF_SUBJECT_REVIEW = _authentication("selfsubjectreviews", "SelfSubjectReview")
TOKEN_REVIEW = _authentication("tokenreviews", "TokenReview")
LOCAL_SUBJECT_ACCESS_REVIEW = _authorization(
    "localsubjectaccessreviews", "LocalSubjectAccessReview", namespaced=True
)
SELF_SUBJECT_ACCESS_REVIEW = _authorization("selfsubjectaccessreviews", "SelfSubjectAccessReview")
SELF_SUBJECT_RULES_REVIEW = _authorization("selfsubjectrulesreviews", "SelfSubjectRulesReview")
SUBJECT_ACCESS_REVIEW = _authorization("subjectaccessreviews", "SubjectAccessReview")

ALL = (
    BINDING,
    SELF_SUBJECT_REVIEW,
    TOKEN_REVIEW,
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
)
