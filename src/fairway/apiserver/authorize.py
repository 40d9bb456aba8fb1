"""Who may do what. Every known user may do everything; this is the one place to change when roles are
enforced."""

from __future__ import annotations

from typing import Any

from fairway.apiserver.call import User

Attributes = dict[str, Any]


def allows(user: User, attributes: Attributes) -> bool:
    return True


def rules(user: User, namespace: str) -> dict[str, Any]:
    """What a user may do in a namespace, as SelfSubjectRulesReview lists it."""
    return {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }
