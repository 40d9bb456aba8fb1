"""The components of a cluster on this machine: their configurations and the processes that run them.

Components are imported late and apart: the API server's child imports what only it needs while its parent
imports what all others share, so that two processors are busy with it at once.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from fairway import logs
from fairway.apiserver.certificates import Authority, kubeconfig, write_private
from fairway.cluster.choices import Choices
from fairway.cluster.layout import Layout, NodePlan, balancer_folder
from fairway.cluster.processes import Child
from fairway.kernel import namespaces
from fairway.running import until_signalled

# What runs in the children that are forked last; imported once, before, so that they share it.
SHARED = (
    "fairway.cluster.addons",
    "fairway.controllers.run",
    "fairway.dns.run",
    "fairway.lb.run",
    "fairway.nodeagent.run",
    "fairway.proxy.run",
)
ZONE = "cluster.local"
AGENT_PORT = 10250

Ready = Callable[[], None]
Component = Callable[[Ready], Awaitable[None]]

COREFILE = """\
.:53 {{
    bind {address}
    errors
    health {address}:8080
    ready {address}:8181
    kubernetes {zone} in-addr.arpa ip6.arpa {{
        kubeconfig {kubeconfig}
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }}
    prometheus {address}:9153
{forward}    cache 30
    loop
    reload 5s
    loadbalance
}}
"""

FORWARD = """\
    forward . /etc/resolv.conf {
        prefer_udp
    }
"""


def import_shared() -> None:
    """What lives for ever is also kept out of the way of the collector, which would copy its pages."""
    for name in SHARED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


class Gate:
    """Closed until its maker opens it; whoever is forked meanwhile can wait for that, later ones needn't."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        self._maker = os.getpid()
        self._is_open = False

    def open(self) -> None:
        if not self._is_open:
            self._is_open = True
            os.close(self._writing)

    def wait(self) -> None:
        """In a child: its own copy of the other end would keep the gate closed."""
        if not self._is_open and os.getpid() != self._maker:
            os.close(self._writing)
        os.read(self._reading, 1)


class Components:
    def __init__(self, choices: Choices, layout: Layout, api_socket: int = -1) -> None:
        self._choices = choices
        self._data = choices.data
        self._layout = layout
        self._api_socket = api_socket
        self._authority = Authority.open(self._data / "pki")
        (self._data / "logs").mkdir(exist_ok=True)

    def apiserver(self, network: Gate) -> Child:
        """Once the `network` is there it can listen on the host's address in it."""
        host = str(self._layout.host_address)

        def component(ready: Ready) -> Awaitable[None]:
            from fairway.apiserver.config import Config
            from fairway.apiserver.run import run

            config = Config(
                data=self._data,
                port=self._choices.port,
                store=self._choices.store,
                bind=("127.0.0.1", host),
                inherited_socket=self._api_socket,
                service_networks=(self._layout.service_network,),
                advertise_address=host,
                allow_privileged=True,
            )
            network.wait()
            return run(config, ready)

        return self._child("apiserver", component)

    def controllers(self) -> Child:
        from fairway.client import Client, KubeConfig
        from fairway.cluster import addons
        from fairway.controllers.config import Config
        from fairway.controllers.run import run
        from fairway.lb.config import Config as LbConfig
        from fairway.lb.run import run as run_lb

        path = self._kubeconfig("controllers", "system:kube-controller-manager")
        allocation = LbConfig(kubeconfig=path, speaker=False, leader_elect=False)

        async def control(ready: Ready) -> None:
            async with Client(KubeConfig.load(path), component="lb") as client:
                await addons.install_pool(client, self._layout)
            async with asyncio.TaskGroup() as group:
                latch = Latch(2, ready)
                group.create_task(_forever(run(Config(path), latch.count)))
                group.create_task(_forever(run_lb(allocation, latch.count)))

        return self._child("controllers", control)

    def dns(self) -> Child:
        from fairway.dns.config import Config
        from fairway.dns.run import run

        path = self._kubeconfig("dns", "system:kube-dns")
        corefile = self._data / "Corefile"
        address = str(self._layout.host_address)
        forward = FORWARD if has_nameserver(Path("/etc/resolv.conf")) else ""
        corefile.write_text(COREFILE.format(address=address, zone=ZONE, kubeconfig=path, forward=forward))
        config = Config(
            kubeconfig=path, conf=corefile, data=self._data / "dns", name="fairway", publish_progress=True
        )

        async def serve(ready: Ready) -> None:
            # The server doesn't wait for its Service: it may have to start while there is no API server.
            latch = Latch(2, ready)
            async with asyncio.TaskGroup() as group:
                installing = group.create_task(self._install_addons(path, latch.count))
                await run(config, latch.count)
                installing.cancel()

        return self._child("dns", serve)

    async def _install_addons(self, identity: Path, done: Ready) -> None:
        from fairway.client import Client, ClientError, KubeConfig
        from fairway.cluster import addons

        async with Client(KubeConfig.load(identity), component="dns") as client:
            while True:
                try:
                    await addons.install(client, self._layout)
                    break
                except ClientError:
                    await asyncio.sleep(0.5)
        done()

    def nodes(self) -> list[Child]:
        return [self._node(node) for node in self._layout.nodes]

    def _node(self, node: NodePlan) -> Child:
        from fairway.lb.config import Config as LbConfig
        from fairway.lb.run import run as run_lb
        from fairway.nodeagent.config import Config as NodeConfig
        from fairway.nodeagent.run import run as run_node
        from fairway.proxy.config import Config as ProxyConfig
        from fairway.proxy.run import run as run_proxy

        path = self._kubeconfig(node.name, f"system:node:{node.name}", "system:nodes")
        data = self._data / "nodes" / node.name
        data.mkdir(parents=True, exist_ok=True)
        certificate, key = self._agent_certificate(node)
        agent = NodeConfig(
            kubeconfig=path,
            name=node.name,
            data=data,
            images=self._data / "images",
            pod_cidr=str(node.pod_network),
            node_ip=str(node.address),
            cluster_dns=(str(self._layout.dns_address),),
            cluster_domain=ZONE,
            # The host has routes to all Pods, so it sees them under their own addresses.
            non_masquerade_cidrs=(str(self._layout.node_network),),
            port=AGENT_PORT,
            tls_certificate=certificate,
            tls_key=key,
            client_ca=self._data / "pki" / "ca.crt",
        )
        proxy = ProxyConfig(
            kubeconfig=path,
            hostname_override=node.name,
            cluster_cidr=(str(self._layout.pod_network),),
            proxy_mode=self._choices.proxy_mode,
            # Else every node would answer for a load balancer's address, which one at a time has.
            ipvs_strict_arp=True,
            publish_progress=True,
        )

        speaker = LbConfig(
            kubeconfig=path,
            controller=False,
            node=node.name,
            interface="eth0",
            data=balancer_folder(node),
            cluster_cidr=(str(self._layout.pod_network),),
        )

        async def agent_and_proxy(ready: Ready) -> None:
            async with asyncio.TaskGroup() as group:
                latch = Latch(3, ready)
                group.create_task(_forever(run_node(agent, latch.count)))
                group.create_task(_forever(run_proxy(proxy, latch.count)))
                group.create_task(_forever(run_lb(speaker, latch.count)))

        return self._child(node.name, agent_and_proxy, node.namespace)

    def _agent_certificate(self, node: NodePlan) -> tuple[Path, Path]:
        pair = self._authority.issue(
            f"system:node:{node.name}", ("system:nodes",), (str(node.address), node.name)
        )
        folder = self._data / "pki"
        certificate, key = folder / f"{node.name}.crt", folder / f"{node.name}.key"
        write_private(certificate, pair.certificate)
        write_private(key, pair.key)
        return certificate, key

    def _kubeconfig(self, name: str, user: str, *groups: str) -> Path:
        """A component's own identity, at the address that works from every namespace."""
        path = self._data / "pki" / f"{name}.kubeconfig"
        server = f"https://{self._layout.host_address}:{self._choices.port}"
        pair = self._authority.issue(user, groups)
        write_private(path, kubeconfig(server, self._authority, user, pair))
        return path

    def _child(self, name: str, component: Component, namespace: str = "") -> Child:
        def body(ready: Ready) -> None:
            logs.configure(name)
            if namespace:
                namespaces.enter(namespace)
            uvloop.run(until_signalled(component(ready)))

        return Child(name, body, self._data / "logs" / f"{name}.log")


class Latch:
    """Calls back once it has been counted down."""

    def __init__(self, count: int, done: Ready) -> None:
        self._left = count
        self._done = done

    def count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._done()


def has_nameserver(resolv_conf: Path) -> bool:
    try:
        return any(line.split()[:1] == ["nameserver"] for line in resolv_conf.read_text().splitlines())
    except OSError:
        return False


async def _forever(work: Awaitable[None]) -> None:
    """A part that ends by itself takes its process down, so that the supervisor starts both anew."""
    await work
    raise RuntimeError("a component ended")
