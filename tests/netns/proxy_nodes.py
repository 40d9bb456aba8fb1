"""A proxy in nftables mode on every node of a test network, fed with objects directly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import msgspec

from fairway.api.objects import EndpointSlice, Service
from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.local_addresses import local_addresses
from fairway.kernel.nftables import LibNftables
from fairway.proxy.changes import Tracker
from fairway.proxy.nftables.applier import Applier, Kernel
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place

from .topology import PODS_V4, PODS_V6, SERVICES_V4, SERVICES_V6, Network, Node, Pod

SETTINGS = Settings(cluster_cidrs=(PODS_V4, PODS_V6), service_ranges=(SERVICES_V4, SERVICES_V6))


class NodeProxy:
    def __init__(self, node: Node, settings: Settings = SETTINGS) -> None:
        space = node.namespace
        self.node = node
        self.kernel = Kernel(
            space.run(LibNftables), space.run(KernelConntrack), lambda: space.run(local_addresses)
        )
        self.tracker = Tracker(Place(node.name))
        self.applier = Applier(self.kernel, settings, node.name)
        self.applier.synchronise({})

    def restart(self, settings: Settings | None = None) -> None:
        """As after kill -9: nothing is remembered but what the kernel holds and the API tells."""
        self.applier = Applier(self.kernel, settings or self.applier.settings, self.node.name)
        self.tracker.all_changed()
        self.applier.synchronise(self.tracker.take())

    def close(self) -> None:
        self.applier.remove()
        self.kernel.nftables.close()
        self.kernel.conntrack.close()


class Fleet:
    """The proxies of all nodes; what one is told, all are told."""

    def __init__(self, network: Network, proxy: Callable[[Node], Any] = NodeProxy) -> None:
        self.proxies = [proxy(node) for node in network.nodes]
        self._services: dict[str, Service] = {}
        self._slices: dict[str, EndpointSlice] = {}

    def put(self, name: str, spec: dict[str, Any], status: dict[str, Any] | None = None) -> None:
        manifest = {"metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": status or {}}
        self._set_service(f"default/{name}", msgspec.convert(manifest, Service))

    def delete(self, name: str) -> None:
        self._set_service(f"default/{name}", None)

    def endpoints(
        self, name: str, pods: Iterable[Pod], port: int, protocol: str = "TCP", **conditions: bool
    ) -> None:
        """One slice for each family, with the Pods as ready endpoints on their nodes."""
        on = {id(pod): proxy.node.name for proxy in self.proxies for pod in proxy.node.pods}
        chosen = list(pods)
        for kind in ("IPv4", "IPv6"):
            manifest = {
                "metadata": {
                    "name": f"{name}-{kind}-{protocol}".lower(),
                    "namespace": "default",
                    "labels": {"kubernetes.io/service-name": name},
                },
                "addressType": kind,
                "ports": [{"name": "", "port": port, "protocol": protocol}],
                "endpoints": [
                    {
                        "addresses": [pod.ip if kind == "IPv4" else pod.ip6],
                        "nodeName": on[id(pod)],
                        "conditions": {"ready": True} | conditions,
                    }
                    for pod in chosen
                ],
            }
            self._set_slice(f"default/{name}-{kind}-{protocol}", msgspec.convert(manifest, EndpointSlice))

    def settings(self, **changes: Any) -> None:
        for proxy in self.proxies:
            proxy.restart(replace(proxy.applier.settings, **changes))

    def reset(self) -> None:
        for key in list(self._services):
            self._set_service(key, None)
        for key in list(self._slices):
            self._set_slice(key, None)
        for proxy in self.proxies:
            proxy.restart(SETTINGS)

    def close(self) -> None:
        for proxy in self.proxies:
            proxy.close()

    def _set_service(self, key: str, new: Service | None) -> None:
        old = self._services.pop(key, None)
        if new is not None:
            self._services[key] = new
        for proxy in self.proxies:
            proxy.tracker.service_changed(key, old, new)
            proxy.applier.apply(proxy.tracker.take())

    def _set_slice(self, key: str, new: EndpointSlice | None) -> None:
        old = self._slices.pop(key, None)
        if new is not None:
            self._slices[key] = new
        for proxy in self.proxies:
            proxy.tracker.slice_changed(key, old, new)
            proxy.applier.apply(proxy.tracker.take())
