"""Roles and their bindings: kept; enforcement is the authorizer's."""

from __future__ import annotations

from fairway.api.kind import Kind
from fairway.api.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES

ALL = tuple(Kind(resource) for resource in (ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS))
