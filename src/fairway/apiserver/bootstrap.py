"""What exists from the start: the four namespaces, the API server's own Service, the Service ranges.

Level-based: run on every start, it makes what is missing and mends what differs. What is deleted later is
put back.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Final

import structlog

from fairway.api.errors import StatusError
from fairway.api.kind import Obj
from fairway.api.kinds import ALL
from fairway.api.resources import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    NAMESPACES,
    SERVICES,
    Resource,
)
from fairway.apiserver.allocators.range_keeper import ensure_default_range
from fairway.apiserver.commit import Committer
from fairway.apiserver.config import Config
from fairway.apiserver.parts import MAIN, unjudged

log = structlog.get_logger()

KINDS = {kind.resource: kind for kind in ALL}
FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
OWN_SERVICE: Final = "default/kubernetes"
PUT_BACK_SECONDS: Final = 10.0
"""As often as Kubernetes looks."""


async def bootstrap(committer: Committer, config: Config) -> None:
    for name in FIRST_NAMESPACES:
        await _ensure(committer, NAMESPACES, {"metadata": {"name": name}})
    await ensure_default_range(committer, config.service_networks)
    await _own_service(committer, config)


async def keep_first_objects(committer: Committer, config: Config) -> None:
    """For ever; a store that can't be written to is tried again."""
    while True:
        await asyncio.sleep(PUT_BACK_SECONDS)
        try:
            await put_back(committer, config)
        except StatusError as error:
            log.warning("what was deleted could not be put back", error=error.message)


async def put_back(committer: Committer, config: Config) -> None:
    """Only what is missing: another server on the same store may have written what differs."""
    first = [(NAMESPACES, name) for name in FIRST_NAMESPACES]
    own = [(resource, OWN_SERVICE) for resource in (SERVICES, ENDPOINTS, ENDPOINT_SLICES)]
    if any(key not in committer.store.bucket(resource).entries for resource, key in (*first, *own)):
        await bootstrap(committer, config)


async def _own_service(committer: Committer, config: Config) -> None:
    """`default/kubernetes`: how Pods reach this server."""
    place: Obj = {"name": "kubernetes", "namespace": "default"}
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": config.port}
    labels = {"component": "apiserver", "provider": "kubernetes"}
    spec = {"clusterIP": config.service_address, "ports": [port], "type": "ClusterIP"}
    await _ensure(committer, SERVICES, {"metadata": {**place, "labels": labels}, "spec": spec})
    target = {"name": "https", "port": config.port, "protocol": "TCP"}
    endpoints: Obj = {
        "metadata": {**place, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": config.advertised}], "ports": [target]}],
    }
    await _ensure(committer, ENDPOINTS, endpoints)
    family = "IPv6" if ":" in config.advertised else "IPv4"
    endpoint_slice: Obj = {
        "metadata": {**place, "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": family,
        "endpoints": [{"addresses": [config.advertised], "conditions": {"ready": True}}],
        "ports": [target],
    }
    await _ensure(committer, ENDPOINT_SLICES, endpoint_slice)


async def _ensure(committer: Committer, resource: Resource, wanted: Obj) -> None:
    """Create the object, or bring an existing one's own fields to what they should be."""
    kind = KINDS[resource]
    metadata = wanted["metadata"]
    bucket = committer.store.bucket(resource)
    key = bucket.key(metadata.get("namespace", ""), metadata["name"])
    if key not in bucket.entries:
        # What the server says of itself is not judged: it may well be reachable on loopback only.
        own = dataclasses.replace(kind, validate=lambda new: [])
        await committer.create(own, wanted, metadata.get("namespace", ""))
        return

    def mend(old: Obj) -> Obj:
        for name, value in wanted.items():
            if name != "metadata":
                old[name] = {**old.get(name, {}), **value} if isinstance(value, dict) else value
        return old

    await committer.update(kind, key, mend, part=unjudged(MAIN))
