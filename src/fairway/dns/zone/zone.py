"""The zone's state: takes objects as they change, keeps the nodes they make, and finds the node of a name.

One thread writes and reads. Changes are collected and take effect with `flush`, so that a Service and its
slices arriving together are worked out once. No I/O; the clock is passed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from fairway.api.objects import ObjectMeta, Pod
from fairway.dns import names
from fairway.dns.zone.addresses import AddressIndex
from fairway.dns.zone.model import EXISTS, NO_NAMES, VERSION, Names, Node, Settings, is_reverse
from fairway.dns.zone.service import endpoint_names, endpoint_node, names_of
from fairway.dns.zone.views import EndpointSlice, Metadata, Service

SERVICE_LABEL = "kubernetes.io/service-name"
_NS_DNS = names.relative("ns.dns")
_SVC = names.relative("svc")
_FINISHED = ("Succeeded", "Failed")

Publish = Callable[[Names, Names], None]


class Zone:
    """Every name the cluster has, in all zones of one `kubernetes` directive."""

    def __init__(self, settings: Settings, now: Callable[[], float]) -> None:
        self.settings = settings
        self.now = now
        self.serial = int(now())
        self.on_publish: Publish = lambda old, new: None
        self.on_change: Callable[[], None] = lambda: None
        """Called when names come or go that belong to no Service: those of namespaces and Pods."""
        self.addresses: tuple[bytes, ...] = ()
        """Where this server can be reached; the Service behind which one of them stands is the name
        server."""
        self.nodes: dict[bytes, Node] = {
            b"": Node(apex=True),
            names.relative("dns-version"): VERSION,
            names.relative("dns"): EXISTS,
        }
        # Longest first, so that the first match is the closest zone.
        self.origins = sorted(settings.zones, key=len, reverse=True)
        self._reverse_zones = frozenset(zone for zone in settings.zones if is_reverse(zone))
        self._services: dict[str, Service] = {}
        self._slices: dict[str, dict[str, EndpointSlice]] = {}
        self._owners: dict[str, str] = {}
        self._published: dict[str, Names] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._population: Counter[str] = Counter()
        self._addresses = AddressIndex(self._endpoint_names)
        self._pods: dict[bytes, dict[str, None]] = {}
        self._dirty: dict[str, None] = {}

    # ---- what changes ----------------------------------------------------------------------------------

    def service_changed(self, key: str, service: Service | None) -> None:
        namespace = key.partition("/")[0]
        if service is None or not self._selected(service.metadata):
            if self._services.pop(key, None):
                self._populate(namespace, -1)
        else:
            if key not in self._services:
                self._populate(namespace, 1)
            self._services[key] = service
        self._dirty[key] = None

    def _populate(self, namespace: str, by: int) -> None:
        """A namespace exists as soon as something is in it, even if it was not heard of itself yet."""
        self._population[namespace] += by
        if not self._population[namespace]:
            del self._population[namespace]
        self.on_change()

    def slice_changed(self, key: str, piece: EndpointSlice | None) -> None:
        before = self._owners.pop(key, None)
        if before:
            self._slices[before].pop(key, None)
            if not self._slices[before]:
                del self._slices[before]
            self._dirty[before] = None
        name = piece.metadata.label(SERVICE_LABEL) if piece else ""
        if piece and name and self._selected(piece.metadata):
            owner = f"{piece.metadata.namespace}/{name}"
            self._owners[key] = owner
            self._slices.setdefault(owner, {})[key] = piece
            self._dirty[owner] = None

    def namespace_changed(self, name: str, metadata: Metadata | None) -> None:
        if metadata is None:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = metadata.labels or {}
        self.on_change()
        if self.settings.namespace_labels:
            self._dirty.update({key: None for key in self._services if key.startswith(name + "/")})

    def pod_changed(self, key: str, old: Pod | None, new: Pod | None) -> None:
        self.on_change()
        for address in _pod_addresses(old):
            holders = self._pods.get(address, {})
            holders.pop(key, None)
            if not holders:
                self._pods.pop(address, None)
        if new and self._selected(new.metadata):
            for address in _pod_addresses(new):
                self._pods.setdefault(address, {})[key] = None

    def _selected(self, metadata: Metadata | ObjectMeta) -> bool:
        return self.settings.labels is None or self.settings.labels.matches(metadata.labels or {})

    def flush(self, limit: int = 1_000_000) -> bool:
        """Works out at most `limit` changed Services; whether none is left then."""
        for key in list(islice(self._dirty, limit)):
            self._publish(key)
        return not self._dirty

    def _publish(self, key: str) -> None:
        del self._dirty[key]
        service = self._services.get(key)
        slices = self._slices.get(key, {})
        new = names_of(service, slices.values(), self.settings) if service else NO_NAMES
        if service and not self._exposed(service.metadata.namespace):
            new = self._concealed(new)
        old = self._published.get(key, NO_NAMES)
        self.serial = max(int(self.now()), self.serial + 1)
        if new == old:
            # Names of single endpoints, which are not kept, may have changed all the same.
            self.on_change()
            return
        if new is NO_NAMES:
            del self._published[key]
        else:
            self._published[key] = new
        self._replace_nodes(old, new)
        self._addresses.replace(key, old, new)
        self.on_publish(old, new)

    def _concealed(self, found: Names) -> Names:
        """What is left of a Service whose namespace is not exposed: by its labels, names for addresses
        remain."""
        return (
            Names(found.base, {}, found.owned, found.endpoints)
            if self.settings.namespace_labels
            else NO_NAMES
        )

    def _replace_nodes(self, old: Names, new: Names) -> None:
        self.nodes.update(new.nodes)
        if old.nodes:
            for name in old.nodes.keys() - new.nodes.keys():
                del self.nodes[name]

    # ---- what is asked ---------------------------------------------------------------------------------

    def zone_of(self, name: bytes) -> bytes | None:
        """The closest of our zones that a name (in small letters) is in."""
        for zone in self.origins:
            if name.endswith(zone) and names.is_under(name, zone):
                return zone
        return None

    def find(self, name: bytes, zone: bytes) -> Node | None:
        """The node of a name in small letters within one of our zones; None if there is no such name."""
        relative = name[: len(name) - len(zone)]
        if zone in self._reverse_zones:
            return self._addresses.find(name) if relative else self.nodes[relative]
        node = self.nodes.get(relative)
        if node is not None:
            return node
        if relative.endswith(_SVC) and b"_" not in relative and not self._near_top(relative):
            # Most names that don't exist are of this kind: other names with a search domain behind them.
            parent = self.nodes.get(relative[relative[0] + 1 :])
            return self._find_endpoint(relative) if parent is not None else None
        return self._find_implied(names.labels(relative))

    def has_only_nodes_below(self, relative: bytes) -> bool:
        """Whether of all names one label below this one only those exist that have a node; but for names
        with an underscore."""
        usual = relative.endswith(_SVC) and len(relative) > len(_SVC) and b"_" not in relative
        return usual and relative not in self.nodes

    def _find_endpoint(self, relative: bytes) -> Node | None:
        """An endpoint of a Service with a virtual IP: those of headless ones have nodes of their own."""
        label, *rest = names.labels(relative)
        if len(rest) != 3:
            return None
        key = f"{rest[1].decode('ascii', 'replace')}/{rest[0].decode('ascii', 'replace')}"
        service = self._services.get(key)
        if service is None or service.spec.cluster_ip == "None" or service.spec.type == "ExternalName":
            return None
        base = relative[relative[0] + 1 :]
        return endpoint_node(base, label, self._slices.get(key, {}).values(), self.settings)

    def _endpoint_names(self, key: str, address: bytes) -> list[bytes]:
        found, slices = self._published.get(key), self._slices.get(key, {})
        return endpoint_names(found.base, address, slices.values(), self.settings) if found else []

    @staticmethod
    def _near_top(relative: bytes) -> bool:
        """Whether a name below `svc` is `svc` itself or that of a namespace."""
        return len(relative) == len(_SVC) or relative[relative[0] + 1 :] == _SVC

    def pointer(self, name: bytes) -> bool:
        """Whether a name in small letters is that of an address we know."""
        origin = self.zone_of(name)
        node = self._addresses.find(name) if origin in self._reverse_zones and name != origin else None
        return node is not None and bool(node.ptr)

    def _find_implied(self, labels: list[bytes]) -> Node | None:
        """Names that no Service makes: those of namespaces and Pods, and of the server itself."""
        match labels[-1]:
            case b"svc" if len(labels) <= 2:
                return self._find_namespace(labels)
            case b"svc" if len(labels) == 5:
                return self._find_port(labels)
            case b"pod" if len(labels) <= 2:
                return self._find_namespace(labels)
            case b"pod" if len(labels) <= 5:
                return self._find_pod(labels)
            case b"dns" if labels == [b"ns", b"dns"]:
                return self._own_node()
        return None

    def _find_port(self, labels: list[bytes]) -> Node | None:
        """`_http.tcp.web.prod.svc`: CoreDNS takes the protocol without its underscore, and clients do so. A
        port without one is no name of the specification: it exists, but has no records."""
        port, protocol = (label.removeprefix(b"_") for label in labels[:2])
        node = self.nodes.get(names.join((b"_" + port, b"_" + protocol, *labels[2:])))
        return node if node is None or labels[0].startswith(b"_") else EXISTS

    def _find_namespace(self, labels: list[bytes]) -> Node | None:
        if len(labels) == 1 or self._exposed(labels[0].decode("ascii", "replace")):
            return EXISTS
        return None

    def _exposed(self, namespace: str) -> bool:
        if self.settings.namespaces and namespace not in self.settings.namespaces:
            return False
        if self.settings.namespace_labels:
            return self.settings.namespace_labels.matches(self._namespaces.get(namespace, {}))
        return namespace in self._namespaces or namespace in self._population

    def withholds(self, name: bytes, zone: bytes) -> bool:
        """Whether a name would exist, were it not for the settings: they keep its namespace, or all
        endpoints."""
        labels = names.labels(name[: len(name) - len(zone)])
        if len(labels) < 3 or labels[-1] != b"svc":
            return False
        service, namespace = (label.decode("ascii", "replace") for label in labels[-3:-1])
        if (self.settings.namespaces or self.settings.namespace_labels) and not self._exposed(namespace):
            return True
        found = self._services.get(f"{namespace}/{service}")
        return not self.settings.endpoints and found is not None and found.spec.cluster_ip == "None"

    def _find_pod(self, labels: list[bytes]) -> Node | None:
        label, namespace = (label.decode("ascii", "replace") for label in labels[-3:-1])
        if self.settings.pods == "disabled" or not self._exposed(namespace):
            return None
        address = dashed_address(label)
        if address is None:
            return None
        if self.settings.pods == "verified" and namespace not in self.namespaces_of_pod(address):
            return None
        if len(labels) > 3:
            # CoreDNS passes over labels in front of a Pod's name: such names exist, but have no records.
            return EXISTS
        return Node(a=(address,)) if len(address) == 4 else Node(aaaa=(address,))

    def namespaces_of_pod(self, address: bytes) -> list[str]:
        """The namespaces of the Pods that have this address: several only for Pods on their node's
        network."""
        return [key.partition("/")[0] for key in self._pods.get(address, ())]

    def describe(self, name: bytes) -> str:
        """The object that a name (in small letters, in one of our zones) comes from, in words."""
        zone = self.zone_of(name) or names.ROOT
        node = self.find(name, zone)
        if node is None:
            return "no object of that name"
        if node.ptr:
            return "address of " + ", ".join(names.to_text(owner)[:-1] for owner in node.ptr)
        labels = [label.decode("ascii", "replace") for label in names.labels(name[: len(name) - len(zone)])]
        match labels:
            case [*_, service, namespace, "svc"] if f"{namespace}/{service}" in self._services:
                kind = "Service" if len(labels) == 3 else "endpoint or port of Service"
                return f"{kind} {namespace}/{service}"
            case [_, namespace, "pod"]:
                holders = [key for a in (*node.a, *node.aaaa) for key in self._pods.get(a, ())]
                return f"Pod {', '.join(holders)}" if holders else f"address of a Pod in {namespace}"
            case [namespace, "svc" | "pod"]:
                return f"Namespace {namespace}"
        return "the zone itself"

    # ---- the zone's own name servers -------------------------------------------------------------------

    def name_servers(self) -> list[bytes]:
        """Relative names of the Services behind which this server stands; `ns.dns` where there is none."""
        found = [owner for address in self.addresses for owner in self._addresses.endpoint_names(address)]
        return list(dict.fromkeys(names.join(names.labels(owner)[1:]) for owner in found)) or [_NS_DNS]

    @property
    def served_by_service(self) -> bool:
        return self.name_servers() != [_NS_DNS]

    def _own_node(self) -> Node:
        servers = self.name_servers()
        if servers != [_NS_DNS]:
            nodes = [self.nodes[server] for server in servers if server in self.nodes]
            found: Iterable[bytes] = (address for node in nodes for address in (*node.a, *node.aaaa))
        else:
            found = self.addresses
        addresses = list(dict.fromkeys(found))
        return Node(
            a=tuple(address for address in addresses if len(address) == 4),
            aaaa=tuple(address for address in addresses if len(address) == 16),
        )


def dashed_address(label: str) -> bytes | None:
    """`10-244-0-5` or `fd00-244--5` as an address."""
    if label.count("-") == 3 and "--" not in label:
        return names.packed(label.replace("-", "."))
    return names.packed(label.replace("-", ":")) if "-" in label else None


def _pod_addresses(pod: Pod | None) -> list[bytes]:
    if pod is None or pod.status.phase in _FINISHED:
        return []
    texts = [entry.ip for entry in pod.status.pod_ips or ()] or [pod.status.pod_ip]
    return [address for text in texts if (address := names.packed(text))]
