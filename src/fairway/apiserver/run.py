"""The API server as a process: certificates, store, listening sockets, and the way down again."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import structlog

from fairway.api.errors import internal_error, method_not_allowed, too_large
from fairway.api.kinds import ALL
from fairway.api.kinds.pod_spec.scope import CLUSTER_POLICY
from fairway.api.resources import ENDPOINTS, INGRESSES, SERVICES
from fairway.api.schema.openapi import OpenApi
from fairway.apiserver.admission import Plugins
from fairway.apiserver.allocators.endpoints import EndpointsGuard
from fairway.apiserver.allocators.range_keeper import RangeKeeper
from fairway.apiserver.allocators.repairer import Repairer
from fairway.apiserver.allocators.services import ServiceAllocator
from fairway.apiserver.allocators.upkeep import keep_allocations
from fairway.apiserver.api import Api
from fairway.apiserver.authenticate import Authenticator, ServiceAccountTokens, read_token_file
from fairway.apiserver.bootstrap import bootstrap, keep_first_objects
from fairway.apiserver.certificates import ADMIN, Authority, Pair, kubeconfig, write_private
from fairway.apiserver.commit import Committer, Companion
from fairway.apiserver.compaction import keep_compacting
from fairway.apiserver.config import Config
from fairway.apiserver.default_class import DefaultIngressClass
from fairway.apiserver.discovery import Discovery
from fairway.apiserver.nodes import NodeConnector
from fairway.apiserver.openapi import served
from fairway.apiserver.respond import status_answer
from fairway.apiserver.route import Routes
from fairway.apiserver.server import ApiServer
from fairway.apiserver.service_account_tokens import TokenAuthority
from fairway.apiserver.store import Store
from fairway.httpserver import HttpServer
from fairway.storage.backend import Backend
from fairway.storage.memory import MemoryBackend
from fairway.storage.sqlite import SqliteBackend, sqlite_path

log = structlog.get_logger()


async def run(config: Config, ready: Callable[[], None] = lambda: None) -> None:
    config.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = Authority.open(config.data / "pki")
    store = Store(open_backend(config), ALL)
    companions: dict[object, Companion] = {}
    CLUSTER_POLICY.allow_privileged = config.allow_privileged
    admission = Plugins(store, config.disabled_admission)
    committer = Committer(store, companions, admission=admission)  # type: ignore[arg-type]
    companions[SERVICES] = ServiceAllocator(
        store, config.service_networks, config.node_ports, committer.clock
    )
    companions[ENDPOINTS] = EndpointsGuard(store)
    companions[INGRESSES] = DefaultIngressClass(store)
    await store.open()
    await bootstrap(committer, config)
    # Objects live long and hold no cycles: looking through all of them often would only cause pauses.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    application = build_application(config, store, committer, authority)
    server = build_server(config, application, authority)
    upkeep = [
        asyncio.create_task(keep_compacting(store)),
        asyncio.create_task(keep_first_objects(committer, config)),
        asyncio.create_task(
            keep_allocations(
                Repairer(committer, config.node_ports), RangeKeeper(committer, config.service_networks)
            )
        ),
    ]
    try:
        for address in config.bind:
            await server.listen(address, config.port)
        if config.inherited_socket >= 0:
            await server.listen_on(socket.socket(fileno=os.dup(config.inherited_socket)))
        write_admin_kubeconfig(config, authority)
        log.info("serving", port=config.port, bind=",".join(config.bind), revision=store.revision)
        ready()
        await store.following()
    finally:
        application.stopping = True
        for task in upkeep:
            task.cancel()
        await asyncio.gather(*upkeep, return_exceptions=True)
        store.end_watches()
        await server.stop()
        await store.close()


def open_backend(config: Config) -> Backend:
    if config.store.startswith("memory:"):
        return MemoryBackend()
    if config.store.startswith("etcd:"):
        # Imported only where it is used: its HTTP client takes 0.1 s.
        from fairway.storage.etcd import EtcdBackend

        return EtcdBackend.from_url(config.store)
    return SqliteBackend(sqlite_path(config.store, config.data))


def build_application(config: Config, store: Store, committer: Committer, authority: Authority) -> ApiServer:
    tokens = TokenAuthority.open(config.data / "pki" / "sa.key", committer.clock)
    users = read_token_file(config.token_file) if config.token_file else {}
    authenticator = Authenticator(users, ServiceAccountTokens(tokens, store))
    api = Api(store, committer, NodeConnector(client_context(authority)), authenticator, tokens)
    discovery = Discovery(ALL, f"{config.advertised}:{config.port}")
    return ApiServer(api, Routes(ALL), discovery, OpenApi(served(ALL)))


def build_server(config: Config, application: ApiServer, authority: Authority) -> HttpServer:
    return HttpServer(
        application.handle,
        tls=tls_context(authority, server_names(config)),
        too_large=status_answer(too_large()),
        unknown_method=status_answer(method_not_allowed()),
        internal_error=status_answer(internal_error("the request could not be answered")),
    )


def server_names(config: Config) -> tuple[str, ...]:
    services = (
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    )
    addresses = [a for a in (*config.bind, config.advertised) if a not in ("0.0.0.0", "::")]
    names = ("localhost", socket.gethostname(), *services, "127.0.0.1", "::1", *addresses)
    return tuple(dict.fromkeys((*names, config.service_address, *config.extra_names)))


def tls_context(authority: Authority, names: tuple[str, ...]) -> ssl.SSLContext:
    """Serves with a fresh certificate; asks clients for theirs, but lets those with tokens in, too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with pem_files(authority.issue("kube-apiserver", (), names)) as (certificate, key):
        context.load_cert_chain(certificate, key)
    context.load_verify_locations(cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    return context


def client_context(authority: Authority) -> ssl.SSLContext:
    """How this server presents itself to node agents, and whom it believes."""
    context = ssl.create_default_context(cadata=authority.pem.decode())
    with pem_files(authority.issue("kube-apiserver-kubelet-client", ("system:masters",))) as (
        certificate,
        key,
    ):
        context.load_cert_chain(certificate, key)
    return context


@contextlib.contextmanager
def pem_files(pair: Pair) -> Iterator[tuple[Path, Path]]:
    """OpenSSL reads chains from files only; these live in a private directory for a moment."""
    with tempfile.TemporaryDirectory() as directory:
        certificate, key = Path(directory, "tls.crt"), Path(directory, "tls.key")
        write_private(certificate, pair.certificate)
        write_private(key, pair.key)
        yield certificate, key


def write_admin_kubeconfig(config: Config, authority: Authority) -> None:
    host = next((a for a in config.bind if a not in ("0.0.0.0", "::")), "127.0.0.1")
    server = f"https://[{host}]:{config.port}" if ":" in host else f"https://{host}:{config.port}"
    name, groups = ADMIN
    write_private(
        config.data / "kubeconfig", kubeconfig(server, authority, name, authority.issue(name, groups))
    )
