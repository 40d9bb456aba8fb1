"""Leases: who leads, who is alive."""

from __future__ import annotations

from fairway.api.kind import Kind
from fairway.api.resources import LEASES

LEASE = Kind(LEASES, create_on_update=True, unconditional_update=False)
