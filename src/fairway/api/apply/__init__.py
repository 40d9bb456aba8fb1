"""Server-side apply, and who owns which field of an object (managedFields). Pure.

`tracking` follows ordinary writes, `applying` is apply itself; below them `structure` says how each kind
divides into fields, `fieldset` and `elements` how sets of fields are written, `owners` how they are kept in
an object.
"""

from fairway.api.apply.applying import Application, apply
from fairway.api.apply.scale import scale_owners, workload_owners
from fairway.api.apply.tracking import track_creation, track_update, zero

__all__ = [
    "Application",
    "apply",
    "scale_owners",
    "track_creation",
    "track_update",
    "workload_owners",
    "zero",
]
