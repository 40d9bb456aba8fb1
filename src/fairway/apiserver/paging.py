"""Lists in pages: the token that says where the next page begins, and at which revision the list is. Pure."""

from __future__ import annotations

import base64
import string
from typing import Final, NamedTuple

import msgspec

from fairway.api.errors import StatusError, bad_request, expired
from fairway.api.schema.syntax import explain

VERSION: Final = "meta.k8s.io/v1"
LATEST: Final = -1
"""As a token's revision: whatever the state is then."""

_LETTERS: Final = frozenset(string.ascii_letters + string.digits + "-_")

TOO_OLD: Final = "The resourceVersion for the provided list is too old."
CANT_CONTINUE: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list"
    " without the continue parameter, or use the continue token in this response to retrieve the remainder of"
    " the results. Continuing with the provided token results in an inconsistent list - objects that were"
    " created, modified, or deleted between the time the first chunk was returned and now may show up in the"
    " list."
)


class Place(NamedTuple):
    """Where a page begins: at the first key that is not less than `start`."""

    revision: int
    start: str


class _Token(msgspec.Struct, omit_defaults=True):
    v: str = ""
    rv: int = 0
    start: str = ""


def token_after(key: str, revision: int) -> str:
    """The token for the page after an entry."""
    return encode_token(Place(revision, f"{key}\0"))


def encode_token(place: Place) -> str:
    text = msgspec.json.encode(_Token(VERSION, place.revision, place.start))
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def decode_token(token: str) -> Place:
    text = _decoded(token)
    try:
        found = msgspec.json.decode(text, type=_Token)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _bad_token(explain(text) or str(error)) from error
    if found.v != VERSION:
        raise _bad_token(f'server does not recognize this encoded version "{found.v}"')
    if found.rv == 0:
        raise _bad_token(f"incorrect encoded start resourceVersion (version {VERSION})")
    if not found.start:
        raise _bad_token(f"encoded start key empty (version {VERSION})")
    return Place(found.rv, found.start)


def _decoded(token: str) -> bytes:
    wrong = next((at for at, letter in enumerate(token) if letter not in _LETTERS), None)
    if wrong is None and len(token) % 4 == 1:
        wrong = len(token) - 1
    if wrong is not None:
        raise _bad_token(f"illegal base64 data at input byte {wrong}")
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))


def _bad_token(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def cant_continue(place: Place) -> StatusError:
    """The state that the list began with is forgotten; the client may go on with what there is now."""
    error = expired(CANT_CONTINUE)
    error.continue_token = encode_token(Place(LATEST, place.start))
    return error
