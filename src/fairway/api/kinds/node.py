"""Nodes."""

from __future__ import annotations

from fairway.api.kind import ANY_METHOD, Kind, Obj, Status, Subresource
from fairway.api.resources import NODES


def default(node: Obj) -> None:
    """One range may be written either way; both are always shown."""
    spec = node.setdefault("spec", {})
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs") and not spec.get("podCIDR"):
        spec["podCIDR"] = spec["podCIDRs"][0]


NODE = Kind(
    NODES,
    default=default,
    status=Status(),
    fields={
        "spec.unschedulable": lambda node: (
            "true" if (node.get("spec") or {}).get("unschedulable") else "false"
        )
    },
    extra=(Subresource("proxy", "NodeProxyOptions", ANY_METHOD),),
)
