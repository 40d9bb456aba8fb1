"""Keeps one node's HAProxy and packet filter in line with the cluster.

Endpoints and certificates go in by the runtime interface; only new listeners, or more servers than there are
slots, need a new generation of HAProxy.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import structlog
import yaml

from fairway.api.resources import CONFIG_MAPS, SECRETS, SERVICES
from fairway.client import Client, EventRecorder, Informer, reference
from fairway.kernel.link import interface_addresses
from fairway.kernel.nftables import Contents, Nftables
from fairway.lb.balancer import runtime
from fairway.lb.balancer.annotations import is_internal
from fairway.lb.balancer.certificates import TLS, Certificate, CertificateError, read_or_error
from fairway.lb.balancer.model import Complaint, Desired, Listener, Ports, Server, Sources, arrange, desired
from fairway.lb.balancer.process import Haproxy, HaproxyError
from fairway.lb.balancer.render import Setting, changes, configuration, new_certificate
from fairway.lb.balancer.ruleset import SETS, TABLE, Rules, removal, transaction
from fairway.lb.config import Config
from fairway.lb.objects import CONFIG_MAP, NAMESPACE, ConfigMap, Secret, is_ours
from fairway.lb.speaker.model import canonical
from fairway.lb.speaker.speaker import Caches

log = structlog.get_logger()
Slots = dict[str, tuple[Server | None, ...]]
RETRY_SECONDS = 1.0
LOOK_SECONDS = 1.0
# Changes come in crowds; waiting so long for the rest of one saves work and is noticed by nobody.
PAUSE_SECONDS = 0.01


class Balancer:
    def __init__(
        self, config: Config, client: Client, recorder: EventRecorder, nftables: Nftables, caches: Caches
    ) -> None:
        self._config, self._recorder, self._nftables, self._caches = config, recorder, nftables, caches
        self._secrets = Informer(client, SECRETS, type=Secret, field_selector=f"type={TLS}")
        self._table = Informer(
            client,
            CONFIG_MAPS,
            type=ConfigMap,
            namespace=NAMESPACE,
            field_selector=f"metadata.name={CONFIG_MAP}",
        )
        self._certificates: dict[str, Certificate | CertificateError] = {}
        self._ports = Ports(*config.balancer_ports)
        self._haproxy = Haproxy(config.data)
        self._listeners: tuple[Listener, ...] = ()
        self._slots: Slots = {}
        self._installed: dict[str, bytes] = {}
        self._rules = ""
        self._applied: list[Contents | None] = []
        self._generation = 0
        self._complaints: frozenset[Complaint] = frozenset()
        self._dirty = asyncio.Event()

    async def run(self) -> None:
        """Needs caches that have synced. On the way out HAProxy ends and the table goes."""
        self._haproxy.prepare()
        async with asyncio.TaskGroup() as group:
            for informer in (self._secrets, self._table):
                group.create_task(informer.run())
                await informer.synced()
            self._secrets.on_change(self._secret_changed)
            for watched in (self._table, self._caches.services, self._caches.slices, self._caches.nodes):
                watched.on_change(self._changed)
            try:
                await self._follow()
            finally:
                await self._haproxy.stop()
                self._nftables.run(removal())

    async def _follow(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._dirty.wait(), LOOK_SECONDS)
                await asyncio.sleep(PAUSE_SECONDS)
            if not self._dirty.is_set() and self._is_intact():
                continue
            self._dirty.clear()
            try:
                await self._settle()
            except (HaproxyError, runtime.RuntimeRefused) as error:
                log.error("balancer not up to date", error=str(error))
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self._dirty.set)

    def _is_intact(self) -> bool:
        """Whether HAProxy still runs, and nobody has changed our tables."""
        if self._listeners and not self._haproxy.is_running:
            log.warning("haproxy has ended")
            return False
        if self._nftables.generation() == self._generation:
            return True
        if self._contents() == self._applied:
            self._generation = self._nftables.generation()
            return True
        log.warning("our tables were changed by someone")
        self._rules = ""
        return False

    def _contents(self) -> list[Contents | None]:
        return [self._nftables.contents(family, TABLE, SETS) for family in ("ip", "ip6")]

    def _changed(self, key: str, old: object, new: object) -> None:
        self._dirty.set()

    def _secret_changed(self, key: str, old: Secret | None, new: Secret | None) -> None:
        if new is None:
            self._certificates.pop(key, None)
        else:
            self._certificates[key] = read_or_error(new)
        self._dirty.set()

    async def _settle(self) -> None:
        sources = Sources(
            services=list(self._caches.services.items().values()),
            slices=list(self._caches.slices.items().values()),
            certificates=self._certificates,
            table=self._names(),
            node=self._config.node,
            default_class=self._config.default_class,
        )
        wanted = desired(sources, self._ports)
        self._complain(wanted)
        if self._config.balancer:
            await self._balance(wanted)
        self._filter(wanted.listeners if self._config.balancer else ())

    async def _balance(self, wanted: Desired) -> None:
        servers = wanted.servers or {}
        slots = {name: arrange(self._slots.get(name, ()), found) for name, found in servers.items()}
        same_shape = {n: len(s) for n, s in slots.items()} == {n: len(s) for n, s in self._slots.items()}
        if wanted.listeners == self._listeners and same_shape and self._haproxy.is_running:
            await self._renew_certificates(wanted)
            await self._move_servers(slots)
        elif wanted.listeners or self._haproxy.is_running:
            await self._reload(wanted, slots)

    async def _move_servers(self, slots: Slots) -> None:
        for name, after in slots.items():
            if commands := changes(name, self._slots[name], after):
                try:
                    await runtime.tell(self._haproxy.socket, commands)
                except runtime.RuntimeRefused:
                    # Nobody knows how far it came: the next round starts from a configuration.
                    self._listeners = ()
                    raise
                self._slots[name] = after

    async def _renew_certificates(self, wanted: Desired) -> None:
        for name, certificate in (wanted.certificates or {}).items():
            if self._installed.get(name) != certificate.pem:
                path = self._install(certificate)
                await runtime.replace_certificate(
                    self._haproxy.socket, new_certificate(path, certificate.pem)
                )
                self._installed[name] = certificate.pem
                log.info("certificate replaced", file=name)

    async def _reload(self, wanted: Desired, slots: Slots) -> None:
        for certificate in (wanted.certificates or {}).values():
            self._install(certificate)
        setting = Setting(self._config.data, self._haproxy.next_socket, self._addresses())
        await self._haproxy.start(configuration(setting, wanted.listeners, slots))
        self._listeners, self._slots = wanted.listeners, slots
        self._installed = {name: c.pem for name, c in (wanted.certificates or {}).items()}
        log.info("balancing", listeners=len(wanted.listeners), reloads=self._haproxy.reloads)

    def _install(self, certificate: Certificate) -> Path:
        return self._haproxy.write(certificate.name, certificate.pem)

    def _filter(self, listeners: tuple[Listener, ...]) -> None:
        ours = [s for s in self._caches.services.items().values() if is_ours(s, self._config.default_class)]
        rules = Rules(
            listeners=listeners,
            addresses=frozenset(a for s in ours for text in s.addresses if (a := canonical(text))),
            internal=frozenset(
                a for s in ours if is_internal(s) for text in s.addresses if (a := canonical(text))
            ),
            inside=self._inside(),
            node=self._addresses(),
        )
        if (text := transaction(rules)) != self._rules:
            self._nftables.run(text)
            self._rules, self._applied = text, self._contents()
            self._generation = self._nftables.generation()

    def _inside(self) -> frozenset[str]:
        """Pods and nodes."""
        found = set(self._config.cluster_cidr)
        for node in self._caches.nodes.items().values():
            found |= set(node.spec.pod_cidrs or ())
            found |= {a for entry in node.status.addresses or () if (a := canonical(entry.address))}
        return frozenset(found)

    def _addresses(self) -> tuple[str, ...]:
        return interface_addresses(self._config.interface)

    def _names(self) -> dict[str, str]:
        """The operator's table of certificates; what isn't one is as if it were not there."""
        config = self._table.get(f"{NAMESPACE}/{CONFIG_MAP}")
        try:
            table = yaml.safe_load(config.text("certificates")) if config else None
        except yaml.YAMLError as error:
            log.warning("table of certificates not read", error=str(error).splitlines()[0])
            table = None
        return {str(k): str(v) for k, v in table.items()} if isinstance(table, dict) else {}

    def _complain(self, wanted: Desired) -> None:
        for complaint in set(wanted.complaints) - self._complaints:
            if (service := self._caches.services.get(complaint.service)) is not None:
                about = reference(SERVICES, service.metadata)
                self._recorder.record(about, complaint.reason, complaint.message, kind="Warning")
        self._complaints = frozenset(wanted.complaints)
