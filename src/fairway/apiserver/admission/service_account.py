"""Every Pod acts as a ServiceAccount, and is given that account's token and pull secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod.admission import refused
from fairway.api.kinds.pod.service_account import (
    DEFAULT_ACCOUNT,
    give_pull_secrets,
    limit_secrets,
    mirror_fault,
    mount_token,
    wants_token,
)
from fairway.api.kinds.pod_spec.resource_claims import MIRROR
from fairway.api.resources import SERVICE_ACCOUNTS
from fairway.apiserver.store import Store

# The default account of a new namespace is made by a controller, which may need a moment.
ATTEMPTS: Final = 10
PAUSE_SECONDS: Final = 0.1


async def admit_service_account(store: Store, pod: Obj, namespace: str) -> None:
    spec = pod["spec"]
    if MIRROR in (pod["metadata"].get("annotations") or {}):
        if fault := mirror_fault(spec):
            raise refused(pod, fault)
        return
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"] = DEFAULT_ACCOUNT
    account = await find_account(store, namespace, spec["serviceAccountName"])
    if account is None:
        name = spec["serviceAccountName"]
        raise refused(
            pod,
            f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found',
        )
    if wants_token(account, spec):
        mount_token(spec)
    give_pull_secrets(account, spec)
    if fault := limit_secrets(account, spec):
        raise refused(pod, fault)


async def find_account(
    store: Store, namespace: str, name: str, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> Obj | None:
    for pause in _pauses(name):
        if pause:
            await sleep(pause)
        entry = store.bucket(SERVICE_ACCOUNTS).entries.get(f"{namespace}/{name}")
        if entry is not None:
            return entry.obj()
    return None


def _pauses(name: str) -> Iterator[float]:
    yield 0
    if name == DEFAULT_ACCOUNT:
        yield from [PAUSE_SECONDS] * (ATTEMPTS - 1)
