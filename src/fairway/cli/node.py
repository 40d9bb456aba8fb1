"""`fairway node`: the node agent, which runs Pods on this machine."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import click

from fairway.nodeagent.config import Config
from fairway.nodeagent.network.node_network import NodeNetwork
from fairway.nodeagent.network.pod_network import PodNetworks
from fairway.nodeagent.removal import remove_all_pods
from fairway.nodeagent.run import run
from fairway.running import run_component


@click.command(help="Run the Pods that are bound to this node. Needs root.")
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, exists=True), help="how to reach the API server"
)
@click.option("--name", "--hostname-override", required=True, help="the name of the Node object")
@click.option("--pod-cidr", required=True, help="this node's range of Pod addresses, such as 10.244.1.0/24")
@click.option("--node-ip", default="", help="this node's address, which every Pod must be able to reach")
@click.option(
    "--data", type=click.Path(path_type=Path), required=True, help="directory for everything it keeps"
)
@click.option("--cluster-dns", multiple=True, default=("10.96.0.10",), show_default=True)
@click.option("--cluster-domain", default="cluster.local", show_default=True)
@click.option("--images", type=click.Path(path_type=Path), help="image store (default: under DATA)")
@click.option(
    "--non-masquerade-cidr", multiple=True, help="where Pods appear with their own addresses; repeatable"
)
@click.option(
    "--cni-conf-dir", type=click.Path(path_type=Path), help="use CNI plugins, configured there, for Pods"
)
@click.option(
    "--cni-bin-dir",
    type=click.Path(path_type=Path),
    multiple=True,
    default=("/opt/cni/bin", "/usr/lib/cni"),
    show_default=True,
    help="where CNI plugins are; repeatable",
)
@click.option("--max-pods", default=110, show_default=True)
@click.option("--port", default=10250, show_default=True, help="port of the server for exec and logs")
@click.option("--tls-cert-file", type=click.Path(path_type=Path, exists=True))
@click.option("--tls-private-key-file", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--client-ca-file", type=click.Path(path_type=Path, exists=True), help="who may call that server"
)
@click.option(
    "--cleanup", is_flag=True, help="remove every Pod and all network settings of this node, and end"
)
def command(
    kubeconfig: Path | None,
    name: str,
    pod_cidr: str,
    node_ip: str,
    data: Path,
    cluster_dns: tuple[str, ...],
    cluster_domain: str,
    images: Path | None,
    non_masquerade_cidr: tuple[str, ...],
    cni_conf_dir: Path | None,
    cni_bin_dir: tuple[Path, ...],
    max_pods: int,
    port: int,
    tls_cert_file: Path | None,
    tls_private_key_file: Path | None,
    client_ca_file: Path | None,
    cleanup: bool,
) -> None:
    _check_network(pod_cidr, "--pod-cidr")
    for cidr in non_masquerade_cidr:
        _check_network(cidr, "--non-masquerade-cidr")
    if cleanup:
        asyncio.run(_clean_up(name, pod_cidr, data, cni_bin_dir))
        return
    if kubeconfig is None or not node_ip:
        raise click.UsageError("--kubeconfig and --node-ip are needed")
    config = Config(
        kubeconfig=kubeconfig,
        name=name,
        data=data,
        pod_cidr=pod_cidr,
        node_ip=_address(node_ip),
        cluster_dns=cluster_dns,
        cluster_domain=cluster_domain,
        images=images,
        non_masquerade_cidrs=non_masquerade_cidr,
        cni_conf_dir=cni_conf_dir,
        cni_bin_dirs=cni_bin_dir,
        max_pods=max_pods,
        port=port,
        tls_certificate=tls_cert_file,
        tls_key=tls_private_key_file,
        client_ca=client_ca_file,
    )
    run_component("node", run(config))


async def _clean_up(name: str, pod_cidr: str, data: Path, cni_bin_dirs: tuple[Path, ...]) -> None:
    await remove_all_pods(data, cni_bin_dirs)
    await NodeNetwork(name, PodNetworks(IPv4Network(pod_cidr)), (), data).take_down()


def _check_network(text: str, option: str) -> None:
    try:
        IPv4Network(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def _address(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--node-ip") from error
