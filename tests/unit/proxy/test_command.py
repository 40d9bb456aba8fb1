"""`fairway proxy`: its flags are kube-proxy's."""

from __future__ import annotations

import errno
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairway.cli import proxy
from fairway.kernel.ipvs import KernelIpvs, unavailable
from fairway.proxy.config import Config, ConfigError, ConntrackLimits
from fairway.proxy.settings import LocalDetection


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """The configurations that the command would have run."""
    configs: list[Config] = []

    async def nothing(config: Config) -> None:
        configs.append(config)

    def run_component(name: str, work: Coroutine[Any, Any, None], level: int) -> None:
        with pytest.raises(StopIteration):
            work.send(None)

    monkeypatch.setattr(proxy, "run", nothing)
    monkeypatch.setattr(proxy, "run_component", run_component)
    return configs


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(proxy.command, arguments)
    return result.exit_code, result.output


def test_flags_become_the_configuration(started: list[Config], tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.touch()
    code, output = invoke(
        *("--kubeconfig", str(kubeconfig), "--hostname-override", "Node-1", "--masquerade-all"),
        *("--cluster-cidr", "10.244.0.0/16,fd00:244::/56", "--nodeport-addresses=192.0.2.0/24"),
        *("--nftables-scheduler", "rr", "--publish-progress=false"),
    )
    assert (code, output) == (0, "")
    assert started == [
        Config(
            kubeconfig=kubeconfig,
            hostname_override="node-1",
            cluster_cidr=("10.244.0.0/16", "fd00:244::/56"),
            nodeport_addresses=("192.0.2.0/24",),
            masquerade_all=True,
            nftables_scheduler="rr",
            publish_progress=False,
            oom_score_adj=-999,
        )
    ]


def test_without_flags_the_node_is_called_as_the_host_and_progress_depends_on_the_server(
    started: list[Config],
) -> None:
    assert invoke() == (0, "")
    assert started[0].hostname_override
    assert started[0].publish_progress is None


def test_node_ports_can_be_narrowed_to_the_primary_address(started: list[Config]) -> None:
    invoke("--nodeport-addresses", "primary")
    assert started[0].nodeport_addresses == ("primary",)


def test_a_mode_that_is_not_there_is_named_together_with_those_that_are(started: list[Config]) -> None:
    code, output = invoke("--proxy-mode", "magic")
    assert code == 1
    assert "there is no proxy mode magic" in output
    assert "nftables" in output
    assert started == []


def test_a_mode_that_this_kernel_cannot_carry_ends_with_what_to_do(
    started: list[Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(kernel: KernelIpvs) -> None:
        raise unavailable(errno.ENOENT)

    monkeypatch.setattr(KernelIpvs, "require", missing)
    code, output = invoke("--proxy-mode", "ipvs")
    assert code == 1
    assert "modprobe ip_vs" in output
    assert started == []


def test_a_range_that_is_none_is_refused_with_the_flags_name(started: list[Config]) -> None:
    code, output = invoke("--cluster-cidr", "10.244.0.0/99")
    assert code == 2
    assert "--cluster-cidr" in output


def test_every_flag_of_kube_proxy_is_taken(started: list[Config]) -> None:
    code, output = invoke(
        *("--master=https://192.0.2.1:6443", "--bind-address=192.0.2.7", "--bind-address-hard-fail"),
        *("--healthz-bind-address=[::]:11256", "--metrics-bind-address="),
        *("--detect-local-mode=BridgeInterface", "--pod-bridge-interface=cbr0"),
        *("--pod-interface-name-prefix=veth", "--iptables-masquerade-bit=7"),
        *("--iptables-localhost-nodeports=false", "--iptables-style=classic"),
        *("--ipvs-scheduler=wlc", "--ipvs-strict-arp", "--ipvs-exclude-cidrs=192.0.2.0/24,198.51.100.0/24"),
        *("--ipvs-tcp-timeout=1h", "--ipvs-tcpfin-timeout=1m", "--ipvs-udp-timeout=1m"),
        *("--proxy-port-range=40000-41000", "--oom-score-adj=-500", "-v", "5"),
        *("--conntrack-max-per-core=0", "--conntrack-min=1000", "--conntrack-tcp-timeout-established=2h"),
        *("--conntrack-tcp-timeout-close-wait=30s", "--conntrack-tcp-be-liberal"),
        *("--conntrack-udp-timeout=10s", "--conntrack-udp-timeout-stream=20s"),
        *("--feature-gates=A=true,B=false", "--kube-api-qps=5", "--kube-api-burst=10", "--profiling=true"),
        *("--kube-api-content-type=application/json", "--config-sync-period=15m"),
    )
    assert (code, output) == (0, "")
    config = started[0]
    assert config.master == "https://192.0.2.1:6443"
    assert (config.bind_address, config.bind_address_hard_fail) == ("192.0.2.7", True)
    assert (config.healthz_bind_address, config.metrics_bind_address) == (("::", 11256), None)
    assert (config.detect_local_mode, config.pod_bridge_interface) == (
        LocalDetection.BRIDGE_INTERFACE,
        "cbr0",
    )
    assert (config.masquerade_bit, config.iptables_localhost_nodeports) == (7, False)
    assert (config.iptables_style, config.ipvs_scheduler, config.ipvs_strict_arp) == ("classic", "wlc", True)
    assert config.ipvs_exclude_cidrs == ("192.0.2.0/24", "198.51.100.0/24")
    assert (config.proxy_port_range, config.oom_score_adj, config.verbosity) == ((40000, 41000), -500, 5)
    assert config.conntrack == ConntrackLimits(0, 1000, 7200.0, 30.0, True, 10.0, 20.0)
    assert set(config.without_effect) == {
        *("--feature-gates", "--kube-api-qps", "--kube-api-burst", "--profiling", "--kube-api-content-type"),
        *("--config-sync-period", "--ipvs-tcp-timeout", "--ipvs-tcpfin-timeout", "--ipvs-udp-timeout"),
    }


@pytest.mark.parametrize(
    ("mode", "expected"), [("nftables", (20.0, 2.0)), ("iptables", (10.0, 1.0)), ("ipvs", (30.0, 0.0))]
)
def test_sync_periods_are_the_modes_own_and_those_of_iptables_count_for_all_but_ipvs(
    started: list[Config], monkeypatch: pytest.MonkeyPatch, mode: str, expected: tuple[float, float]
) -> None:
    monkeypatch.setattr(KernelIpvs, "require", lambda self: None)
    flags = ["--iptables-sync-period=10s", "--iptables-min-sync-period=1s", "--ipvs-sync-period=30s"]
    flags += ["--nftables-sync-period=20s", "--nftables-min-sync-period=2s"]
    assert invoke("--proxy-mode", mode, *flags) == (0, "")
    assert (started[0].sync_period, started[0].min_sync_period) == expected


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--detect-local-mode=BridgeInterface"], "add --pod-bridge-interface"),
        (["--detect-local-mode=InterfaceNamePrefix"], "add --pod-interface-name-prefix"),
        (["--detect-local-mode=BridgeInterface", '--pod-bridge-interface=a" drop'], "no name of a network"),
        (["--iptables-sync-period=1s", "--iptables-min-sync-period=2s"], "must not be shorter"),
        (["--iptables-min-sync-period=fast"], "write it as 5s"),
        (["--healthz-bind-address=everywhere"], "write it as 0.0.0.0:10256"),
        (["--iptables-masquerade-bit=32"], "0<=x<=31"),
        (["--feature-gates=A"], "write it as Name=true"),
        (["--proxy-port-range=9-1"], "write it as 30000-32767"),
        (["--bind-address=here"], "--bind-address"),
    ],
)
def test_a_wrong_value_is_refused_with_what_to_write_instead(
    started: list[Config], flags: list[str], said: str
) -> None:
    code, output = invoke(*flags)
    assert code != 0
    assert said in output
    assert started == []


def test_beside_a_file_only_the_flags_count_that_kube_proxy_honours_and_those_it_does_not_have(
    started: list[Config], tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
        "hostnameOverride: from-file\nclusterCIDR: 10.1.0.0/16\n"
    )
    code, output = invoke(
        *(
            "--config",
            str(file),
            "--cluster-cidr=10.2.0.0/16",
            "--masquerade-all",
            "--hostname-override=Flag",
        ),
        *("--nftables-scheduler=rr", "-v", "4", "--master=https://192.0.2.1"),
    )
    assert (code, output) == (0, "")
    config = started[0]
    assert (config.hostname_override, config.cluster_cidr) == ("flag", ("10.1.0.0/16",))
    assert (config.masquerade_all, config.nftables_scheduler, config.verbosity) == (False, "rr", 4)
    assert config.master == "https://192.0.2.1"
    assert config.oom_score_adj == -999
    assert config.without_effect == {
        "--cluster-cidr": "--config is given",
        "--masquerade-all": "--config is given",
    }


def test_the_configuration_can_be_written_and_read_back(started: list[Config], tmp_path: Path) -> None:
    file = tmp_path / "written.yaml"
    flags = ["--cluster-cidr=10.1.0.0/16", "--masquerade-all", "--hostname-override=n1"]
    assert invoke(*flags, "--write-config-to", str(file)) == (0, "")
    assert started == []
    assert invoke("--config", str(file)) == (0, "")
    assert invoke(*flags) == (0, "")
    assert replace(started[0], file=None) == started[1]


def test_an_expected_failure_of_one_task_among_many_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(name: str, work: Coroutine[Any, Any, None], level: int) -> None:
        work.close()
        raise ExceptionGroup("tasks", [ExceptionGroup("more", [ConfigError("choose another address")])])

    monkeypatch.setattr(proxy, "run_component", failing)
    assert invoke() == (1, "Error: choose another address\n")
