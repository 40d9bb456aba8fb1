"""What a fresh cluster is given besides what the API server makes itself: DNS' Service, an address pool."""

from __future__ import annotations

import contextlib
from typing import Any

import yaml

from fairway.api.resources import CONFIG_MAPS, ENDPOINT_SLICES, ENDPOINTS, SERVICES, Resource
from fairway.client import AlreadyExists, Client, NotFound
from fairway.cluster.layout import Layout

Obj = dict[str, Any]

PORTS = (("dns", "UDP"), ("dns-tcp", "TCP"))


def dns_objects(layout: Layout) -> list[tuple[Resource, Obj]]:
    """`kube-system/kube-dns`: no selector, for the server runs outside the cluster, on the host."""
    place = {"name": "kube-dns", "namespace": "kube-system"}
    labels = {"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"}
    address = str(layout.host_address)
    targets = [{"name": name, "port": 53, "protocol": protocol} for name, protocol in PORTS]
    service: Obj = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**place, "labels": labels},
        "spec": {
            "clusterIP": str(layout.dns_address),
            "ports": [{**target, "targetPort": 53} for target in targets],
        },
    }
    endpoints: Obj = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {**place, "labels": {**labels, "endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": address}], "ports": targets}],
    }
    endpoint_slice: Obj = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            **place,
            "labels": {
                "kubernetes.io/service-name": "kube-dns",
                "endpointslice.kubernetes.io/managed-by": "fairway.dev",
            },
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": targets,
    }
    return [(SERVICES, service), (ENDPOINTS, endpoints), (ENDPOINT_SLICES, endpoint_slice)]


def address_pool(layout: Layout) -> Obj:
    pool = {"name": "default", "protocol": "layer2", "addresses": [layout.load_balancer_range]}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "fairway-lb", "namespace": "kube-system"},
        "data": {"config": yaml.safe_dump({"address-pools": [pool]}, sort_keys=False)},
    }


async def install_pool(client: Client, layout: Layout) -> None:
    """Only where there is none: whoever changes the pools wants them to stay changed."""
    with contextlib.suppress(AlreadyExists):
        await client.create(CONFIG_MAPS, address_pool(layout))


async def install(client: Client, layout: Layout) -> None:
    for resource, obj in dns_objects(layout):
        try:
            await client.patch(resource, obj["metadata"]["name"], obj, namespace="kube-system", kind="merge")
        except NotFound:
            await client.create(resource, obj, namespace="kube-system")
