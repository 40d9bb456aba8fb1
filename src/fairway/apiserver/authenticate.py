"""Who is asking: a client certificate of our authority, or a bearer token. Nobody else gets in."""

from __future__ import annotations

import csv
import hmac
from collections.abc import Mapping
from pathlib import Path

from fairway.api.errors import unauthorized
from fairway.apiserver.call import User
from fairway.httpserver import Request

AUTHENTICATED = "system:authenticated"
# Answered without credentials: what load balancers and installers probe.
PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version")


class Authenticator:
    def __init__(self, tokens: Mapping[str, User] | None = None) -> None:
        self._tokens = dict(tokens or {})

    def user(self, request: Request) -> User:
        header = request.headers.get("authorization", "")
        if header:
            return self._by_token(header)
        peer = request.peer
        if peer.common_name:
            return User(peer.common_name, (*peer.organizations, AUTHENTICATED))
        raise unauthorized()

    def _by_token(self, header: str) -> User:
        scheme, _, token = header.partition(" ")
        if scheme.lower() == "bearer" and token:
            for known, user in self._tokens.items():
                if hmac.compare_digest(known.encode(), token.strip().encode()):
                    return user
        raise unauthorized()


def is_public(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith(("/healthz/", "/livez/", "/readyz/"))


def read_token_file(path: Path) -> dict[str, User]:
    """kube-apiserver's format: token,user,uid[,"group1,group2"], one a line."""
    tokens = {}
    with path.open(newline="") as file:
        for row in csv.reader(file):
            if len(row) < 3 or row[0].startswith("#"):
                continue
            groups = tuple(g.strip() for g in row[3].split(",")) if len(row) > 3 else ()
            tokens[row[0]] = User(row[1], (*groups, AUTHENTICATED), row[2])
    return tokens
