"""Short ways to write the objects that zones are made of."""

from __future__ import annotations

import msgspec

from fairway.dns import names, wire
from fairway.dns.wire import Record
from fairway.dns.zone.model import Settings
from fairway.dns.zone.views import EndpointSlice, Metadata, Service
from fairway.dns.zone.zone import Zone

CLUSTER = names.from_text("cluster.local.")
SETTINGS = Settings(zones=(CLUSTER, names.IN_ADDR, names.IP6), pods="insecure")


def service(name: str = "web", namespace: str = "prod", **spec: object) -> Service:
    spec.setdefault("clusterIP", "10.96.0.7")
    if spec["clusterIP"] != "None":
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
    spec.setdefault("ports", [{"name": "http", "port": 80}])
    return msgspec.convert({"metadata": {"name": name, "namespace": namespace}, "spec": spec}, Service)


def external(name: str, target: str, namespace: str = "prod") -> Service:
    return service(name, namespace, type="ExternalName", externalName=target, clusterIP="", clusterIPs=[])


def piece(
    *endpoints: dict[str, object], name: str = "web", namespace: str = "prod", **rest: object
) -> EndpointSlice:
    labels = {"kubernetes.io/service-name": name}
    obj = {
        "metadata": {"name": f"{name}-1", "namespace": namespace, "labels": labels},
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": list(endpoints),
        **rest,
    }
    return msgspec.convert(obj, EndpointSlice)


def endpoint(*addresses: str, **rest: object) -> dict[str, object]:
    return {"addresses": list(addresses), **rest}


def key_of(obj: Service | EndpointSlice) -> str:
    return f"{obj.metadata.namespace}/{obj.metadata.name}"


class World:
    """A zone with short commands; time stands still unless moved."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.time = 1000.0
        self.zone = Zone(settings, lambda: self.time)
        self.namespace("prod")

    def namespace(self, name: str, gone: bool = False, **labels: str) -> None:
        self.zone.namespace_changed(name, None if gone else Metadata(name=name, labels=labels))

    def put(self, *objects: Service | EndpointSlice) -> None:
        for obj in objects:
            if isinstance(obj, Service):
                self.zone.service_changed(key_of(obj), obj)
            else:
                self.zone.slice_changed(key_of(obj), obj)
        self.zone.flush()

    def remove(self, obj: Service | EndpointSlice) -> None:
        if isinstance(obj, Service):
            self.zone.service_changed(key_of(obj), None)
        else:
            self.zone.slice_changed(key_of(obj), None)
        self.zone.flush()


def shown(record: Record) -> str:
    """A record as text, for the types the zone makes."""
    owner = names.to_text(record.name).removesuffix(".cluster.local.")
    match record.type:
        case wire.A:
            return f"{owner} A {'.'.join(map(str, record.data))}"
        case wire.AAAA:
            return f"{owner} AAAA {record.data.hex()}"
        case wire.SRV:
            weight, port = (int.from_bytes(record.data[i : i + 2], "big") for i in (2, 4))
            target = names.to_text(record.data[6:]).removesuffix(".cluster.local.")
            return f"{owner} SRV {weight} {port} {target}"
        case wire.CNAME | wire.PTR | wire.NS:
            target = names.to_text(record.data).removesuffix(".cluster.local.")
            return f"{owner} { {5: 'CNAME', 12: 'PTR', 2: 'NS'}[record.type] } {target}"
        case wire.SOA:
            return f"{owner} SOA"
    return f"{owner} TYPE{record.type}"
