"""The three ways to patch an object that need no ownership of fields: JSON, merge and strategic merge.

Each is a pure function over plain JSON values; what it returns shares nothing with what it was given. A
patch that can't be applied raises PatchError, which is already the Status to answer with.
"""

from fairway.api.patches.document import PatchError, decode_patch
from fairway.api.patches.json_patch import json_patch
from fairway.api.patches.merge import merge_patch
from fairway.api.patches.strategic import FieldShape, Shape, strategic_merge_patch

__all__ = [
    "FieldShape",
    "PatchError",
    "Shape",
    "decode_patch",
    "json_patch",
    "merge_patch",
    "strategic_merge_patch",
]
