"""What every verb works with: the store, the way to change it, and the parts of the server around them."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.apiserver.authenticate import Authenticator
from fairway.apiserver.commit import Committer
from fairway.apiserver.nodes import NodeConnector
from fairway.apiserver.service_account_tokens import TokenAuthority
from fairway.apiserver.store import Store


@dataclass(frozen=True, slots=True)
class Api:
    store: Store
    committer: Committer
    nodes: NodeConnector
    authenticator: Authenticator
    tokens: TokenAuthority
