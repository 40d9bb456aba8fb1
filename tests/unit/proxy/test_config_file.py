"""KubeProxyConfiguration files, read and written."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from fairway.proxy.config import Config, ConfigError, ConntrackLimits
from fairway.proxy.config_fields import FIELDS, written
from fairway.proxy.config_file import read_config, until_changed
from fairway.proxy.settings import LocalDetection

HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"

# As kubeadm writes it: most fields empty, which means their defaults.
KUBEADM = """\
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpBeLiberal: false
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: null
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  localhostNodePorts: null
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 0s
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: ""
mode: ""
nftables:
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  networkName: ""
"""


def read(tmp_path: Path, text: str, head: str = HEAD) -> Config:
    file = tmp_path / "config.yaml"
    file.write_text(head + text)
    return read_config(file, Config(hostname_override="host"))


def test_a_file_of_kubeadm_changes_only_what_it_says(tmp_path: Path) -> None:
    config = read(tmp_path, KUBEADM)
    expected = Config(
        hostname_override="host",
        kubeconfig=Path("/var/lib/kube-proxy/kubeconfig.conf"),
        cluster_cidr=("10.244.0.0/16",),
        bind_address="0.0.0.0",
        file=config.file,
    )
    assert config == expected


def test_a_timeout_of_zero_leaves_the_kernels_own(tmp_path: Path) -> None:
    assert read(tmp_path, "conntrack: {tcpEstablishedTimeout: 0s}\n").conntrack.tcp_timeout_established == 0.0


def test_every_section_reaches_the_configuration(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        """\
mode: ipvs
hostnameOverride: Node-7
bindAddress: 192.0.2.7
healthzBindAddress: 192.0.2.7:1
metricsBindAddress: "[::1]:2"
detectLocalMode: InterfaceNamePrefix
detectLocal: {interfaceNamePrefix: veth}
nodePortAddresses: [primary, 192.0.2.0/24]
oomScoreAdj: -10
portRange: 40000-40100
featureGates: {Anything: true}
ipvs: {scheduler: sh, strictARP: true, excludeCIDRs: [198.51.100.0/24], syncPeriod: 10s, minSyncPeriod: 1s}
iptables: {masqueradeBit: 3, masqueradeAll: true, syncPeriod: 99s}
nftables: {masqueradeBit: 9}
conntrack: {maxPerCore: 5, min: 6, tcpEstablishedTimeout: 1h0m0s, tcpBeLiberal: true, udpTimeout: 7s}
logging: {verbosity: 3}
""",
    )
    assert (config.proxy_mode, config.hostname_override, config.bind_address) == (
        "ipvs",
        "node-7",
        "192.0.2.7",
    )
    assert (config.healthz_bind_address, config.metrics_bind_address) == (("192.0.2.7", 1), ("::1", 2))
    assert config.detect_local_mode is LocalDetection.INTERFACE_NAME_PREFIX
    assert config.pod_interface_name_prefix == "veth"
    assert config.nodeport_addresses == ("primary", "192.0.2.0/24")
    assert (config.oom_score_adj, config.proxy_port_range, config.verbosity) == (-10, (40000, 40100), 3)
    assert (config.ipvs_scheduler, config.ipvs_strict_arp) == ("sh", True)
    assert config.ipvs_exclude_cidrs == ("198.51.100.0/24",)
    # ipvs has periods of its own, and iptables' mark.
    assert (config.sync_period, config.min_sync_period) == (10.0, 1.0)
    assert (config.masquerade_bit, config.masquerade_all) == (3, True)
    assert config.conntrack == ConntrackLimits(5, 6, 3600.0, 3600.0, True, 7.0, 0.0)
    assert set(config.without_effect) == {"featureGates.Anything"}


@pytest.mark.parametrize(("mode", "bit"), [("nftables", 9), ("iptables", 3), ("ipvs", 3), ("userspace", 3)])
def test_the_section_of_the_mode_counts(tmp_path: Path, mode: str, bit: int) -> None:
    text = f"mode: {mode}\niptables: {{masqueradeBit: 3}}\nnftables: {{masqueradeBit: 9}}\n"
    assert read(tmp_path, text).masquerade_bit == bit


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mode: nftables\nclusterCidr: x\n", "config.yaml:4: unknown field clusterCidr"),
        ("iptables:\n  masqueradeBits: 3\n", "config.yaml:4: unknown field iptables.masqueradeBits"),
        ("nothing:\n", "config.yaml:3: unknown field nothing"),
        ("nothing: {}\n", "config.yaml:3: unknown field nothing"),
        ("iptables: 5\n", "config.yaml:3: iptables must have fields of its own"),
        (
            "iptables:\n  masqueradeBit: 32\n",
            "config.yaml:4: iptables.masqueradeBit: 32 is not between 0 and 31",
        ),
        ("iptables:\n  masqueradeBit: yes\n", "config.yaml:4: iptables.masqueradeBit must be a number"),
        ("\nclusterCIDR: 10.0.0.1/8\n", "config.yaml:4: clusterCIDR: 10.0.0.1/8 has host bits set"),
        ("nodePortAddresses: 10.0.0.0/8\n", "nodePortAddresses must be a list"),
        ("nodePortAddresses: [5]\n", "config.yaml:3: nodePortAddresses"),
        ("ipvs: {scheduler: best}\n", "'best' is none of rr, wrr"),
        ("detectLocalMode: Guess\n", "'Guess' is none of ClusterCIDR"),
        ("conntrack: {udpTimeout: long}\n", "write it as 5s"),
        ("mode: ipvs\nmode: nftables\n", "config.yaml:4: mode is given twice"),
        ("a: [\n", "this is no YAML"),
    ],
)
def test_a_mistake_is_named_with_its_field_and_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)


@pytest.mark.parametrize("head", ["", "apiVersion: v1\nkind: Pod\n", "[]\n"])
def test_another_kind_of_file_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(ConfigError):
        read(tmp_path, "" if head == "[]\n" else "mode: nftables\n", head)


def test_a_file_that_is_not_there_is_an_error_of_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        read_config(tmp_path / "nothing", Config())


@pytest.mark.parametrize("mode", ["nftables", "iptables", "ipvs", "userspace"])
def test_what_is_written_is_read_as_the_same(tmp_path: Path, mode: str) -> None:
    import yaml

    config = Config(
        hostname_override="n1",
        proxy_mode=mode,
        cluster_cidr=("10.1.0.0/16", "fd00::/48"),
        nodeport_addresses=("primary",),
        masquerade_bit=5,
        min_sync_period=0.5,
        sync_period=7384.0,
        conntrack=ConntrackLimits(tcp_be_liberal=True),
        ipvs_scheduler="lc",
        oom_score_adj=5,
        proxy_port_range=(1000, 2000),
    )
    text = yaml.safe_dump(written(config))
    again = read(tmp_path, text, "")
    assert replace(again, file=None) == config


def test_every_field_has_a_place_in_the_configuration() -> None:
    names = {f"conntrack.{name}" for name in ConntrackLimits.__slots__} | set(Config.__slots__)
    assert {field.name for field in FIELDS.values()} <= names


async def test_a_file_that_changes_ends_the_proxy(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("a")
    task = asyncio.create_task(until_changed(file, every=0.001))
    await asyncio.sleep(0.01)
    file.unlink()
    await asyncio.sleep(0.01)
    file.write_text("b")
    with pytest.raises(ConfigError, match="started anew"):
        await asyncio.wait_for(task, 30)


async def test_a_file_that_is_replaced_by_the_same_is_no_change(tmp_path: Path) -> None:
    file, other = tmp_path / "config.yaml", tmp_path / "new.yaml"
    file.write_text("a")
    task = asyncio.create_task(until_changed(file, every=0.001))
    await asyncio.sleep(0.01)
    other.write_text("a")
    other.replace(file)
    await asyncio.sleep(0.05)
    assert not task.done()
    task.cancel()
