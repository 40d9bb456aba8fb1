"""Who is asking: a client certificate of our authority, or a bearer token. Nobody else gets in.

Tokens are those of the token file and those of service accounts. Whoever is known may act as someone else.
"""

from __future__ import annotations

import csv
import hmac
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from fairway.api.errors import bad_request, unauthorized
from fairway.api.resources import NODES, PODS, SECRETS, SERVICE_ACCOUNTS, Resource
from fairway.apiserver.call import User
from fairway.apiserver.service_account_tokens import BadToken, Claims, Reference, TokenAuthority
from fairway.apiserver.store import Store
from fairway.httpserver import Request

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = "system:anonymous"
SERVICE_ACCOUNT = "system:serviceaccount:"
EXTRA = "authentication.kubernetes.io/"
_IMPERSONATION = ("impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-")
# Answered without credentials: what load balancers and installers probe.
PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version")


class Authenticator:
    def __init__(
        self,
        tokens: Mapping[str, User] | None = None,
        service_accounts: ServiceAccountTokens | None = None,
    ) -> None:
        self._tokens = dict(tokens or {})
        self._service_accounts = service_accounts

    def user(self, request: Request) -> User:
        return impersonated(request, self._known(request))

    def _known(self, request: Request) -> User:
        """A certificate that was verified counts before a token, whatever that is good for."""
        peer = request.peer
        if peer.common_name:
            return User(peer.common_name, (*peer.organizations, AUTHENTICATED))
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        user = self.by_token(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        return user

    def by_token(self, token: str, audiences: tuple[str, ...] = ()) -> User | None:
        if not token:
            return None
        if not audiences:
            for known, user in self._tokens.items():
                if hmac.compare_digest(known.encode(), token.encode()):
                    return user
        return self._service_accounts.user(token, audiences) if self._service_accounts else None


class ServiceAccountTokens:
    """Users of service account tokens, as long as the accounts, and what tokens are bound to, exist."""

    MOST_REMEMBERED = 4096

    def __init__(self, authority: TokenAuthority, store: Store) -> None:
        self.authority = authority
        self._store = store
        self._read: dict[tuple[str, tuple[str, ...]], Claims] = {}

    def user(self, token: str, audiences: tuple[str, ...] = ()) -> User | None:
        try:
            claims = self._claims(token, audiences)
        except BadToken:
            return None
        identity = claims.identity
        namespace, account = identity.namespace, identity.serviceaccount
        bound = ((SERVICE_ACCOUNTS, account), (PODS, identity.pod), (SECRETS, identity.secret))
        if not all(self._exists(resource, namespace, each) for resource, each in bound if each):
            return None
        if identity.node and not identity.pod and not self._exists(NODES, "", identity.node):
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
        return User(f"{SERVICE_ACCOUNT}{namespace}:{account.name}", groups, account.uid, _extra(claims))

    def _claims(self, token: str, audiences: tuple[str, ...]) -> Claims:
        """Signatures are checked once; whether it is still the time for a token, each time."""
        known = self._read.get((token, audiences))
        if known is not None and self.authority.clock().timestamp() < known.exp:
            return known
        claims = self.authority.read(token, audiences)
        if len(self._read) >= self.MOST_REMEMBERED:
            self._read.clear()
        self._read[token, audiences] = claims
        return claims

    def _exists(self, resource: Resource, namespace: str, wanted: Reference) -> bool:
        bucket = self._store.bucket(resource)
        entry = bucket.entries.get(bucket.key(namespace, wanted.name))
        return entry is not None and entry.obj()["metadata"]["uid"] == wanted.uid


def _extra(claims: Claims) -> tuple[tuple[str, tuple[str, ...]], ...]:
    extra = [(f"{EXTRA}credential-id", (f"JTI={claims.jti}",))]
    for name, each in (("pod", claims.identity.pod), ("node", claims.identity.node)):
        if each:
            extra.append((f"{EXTRA}{name}-name", (each.name,)))
            if each.uid:
                extra.append((f"{EXTRA}{name}-uid", (each.uid,)))
    return tuple(extra)


def impersonated(request: Request, user: User) -> User:
    """Whom the client wants to be taken for."""
    headers = request.headers
    if not any(name.startswith(_IMPERSONATION) for name in headers):
        return user
    name, uid = headers.get("impersonate-user", ""), headers.get("impersonate-uid", "")
    groups = tuple(g.strip() for g in headers.get("impersonate-group", "").split(",") if g.strip())
    prefix = "impersonate-extra-"
    extra = tuple(
        (unquote(key[len(prefix) :]), tuple(part.strip() for part in value.split(",")))
        for key, value in headers.items()
        if key.startswith(prefix)
    )
    if not name:
        if groups or uid or extra:
            raise bad_request(
                "requested impersonation of groups, a uid or extra without impersonating a user"
            )
        return user
    if not groups and name.startswith(SERVICE_ACCOUNT):
        namespace = name.removeprefix(SERVICE_ACCOUNT).partition(":")[0]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    everyone = UNAUTHENTICATED if name == ANONYMOUS else AUTHENTICATED
    if everyone not in groups:
        groups = (*groups, everyone)
    return replace(user, name=name, groups=groups, uid=uid, extra=extra)


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
