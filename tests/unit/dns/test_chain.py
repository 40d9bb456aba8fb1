"""From Corefiles to chains: order, ports, zones, and errors that name line and word."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import fairway.dns.plugins
from fairway.dns import names
from fairway.dns.config import usual_corefile
from fairway.dns.corefile import CorefileError, parse
from fairway.dns.plugin import Plugin
from fairway.dns.plugins import ORDER, load
from tests.unit.dns.plugins.bench import Bench

FOLDERS = sorted(module.name for module in pkgutil.iter_modules(fairway.dns.plugins.__path__))


def test_every_plugin_folder_has_its_place_in_the_order_and_no_place_is_empty() -> None:
    assert sorted(ORDER) == FOLDERS


@pytest.mark.parametrize("name", ORDER)
def test_every_plugin_has_the_one_shape(name: str) -> None:
    module = importlib.import_module(f"fairway.dns.plugins.{name}")
    assert module.PLUGIN is load(name)
    assert issubclass(module.PLUGIN, Plugin)
    assert module.PLUGIN.name == name
    assert (module.__doc__ or "").startswith(f"`{name}")


def test_the_order_of_the_corefile_does_not_matter() -> None:
    one = Bench("loadbalance\nerrors\ncache\nforward . 127.0.0.1")
    other = Bench("forward . 127.0.0.1\ncache\nerrors\nloadbalance")
    expected = ["errors", "loadbalance", "cache", "forward"]
    assert [p.name for p in one.chain.plugins] == [p.name for p in other.chain.plugins] == expected


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ("errors\nbogus 1 2", 3, "Unknown directive 'bogus'"),
        ("errors\ncache\nlog\ncache", 5, "only be used once"),
        ("kubernetes cluster.local {\n podz insecure\n}", 3, "'podz'"),
        ("kubernetes cluster.local {\n pods maybe\n}", 3, "'maybe'"),
        ("kubernetes cluster.local {\n ttl 4000\n}", 3, "'4000'"),
        ("kubernetes cluster.local {\n labels a==\n ttl x\n}", 4, "'x'"),
        ("kubernetes cluster.local {\n namespaces a\n namespace_labels b=c\n}", 2, "cannot both be set"),
        ("kubernetes a..b", 2, "'a..b'"),
        ("forward .", 2, "'.'"),
        ("forward . nowhere", 2, "'nowhere'"),
        ("forward . https://9.9.9.9", 2, "'https://9.9.9.9'"),
        ("forward . 127.0.0.1 {\n policy best\n}", 3, "'best'"),
        ("forward . 127.0.0.1 {\n max_fails many\n}", 3, "'many'"),
        ("cache 30 {\n denial x\n}", 3, "'x'"),
        ("cache 30 {\n serve_stale 1h later\n}", 3, "'later'"),
        ("cache 30 {\n servfail 10m\n}", 3, "'10m'"),
        ("health {\n lameduck long\n}", 3, "'long'"),
        ("ready :99999", 2, "'99999'"),
        ("loadbalance best", 2, "'best'"),
        ("errors {\n consolidate 5m (\n}", 3, "'('"),
        ("log . {\n class everything\n}", 3, "'everything'"),
        ("bind nosuchinterface0", 2, "'nosuchinterface0'"),
        ("rewrite nome a b", 2, "'nome'"),
        ("rewrite name regex ( b", 2, "'('"),
        ("template IN NOPE", 2, "'NOPE'"),
        ('template IN A {\n answer "{{ .Bogus }}"\n}', 3, ".Bogus"),
        ("hosts /dev/null {\n what ever\n}", 3, "'what'"),
        ("acl {\n permit\n}", 3, "'permit'"),
        ("acl {\n allow net 10.0.0.0/99\n}", 3, "'10.0.0.0/99'"),
        ("bufsize 100", 2, "'100'"),
        ("autopath @hosts", 2, "'@hosts'"),
        ("any all", 2, "'all'"),
        ("reload 1 2 3", 2, "'3'"),
    ],
)
def test_mistakes_are_reported_with_line_and_word(lines: str, line: int, words: str) -> None:
    with pytest.raises(CorefileError) as error:
        Bench(lines)
    assert str(error.value).startswith(f"Corefile:{line} - ")
    assert words in str(error.value)


@pytest.mark.parametrize("zones", [". .", "a.test a.test:53", "10.0.0.0/8 10.in-addr.arpa"])
def test_a_zone_can_be_served_only_once_on_a_port(zones: str) -> None:
    Bench("errors", zones)
    with pytest.raises(CorefileError, match="already defined"):
        Bench(f"errors\n}}\n{zones.split()[0]} {{\nlog", zones)


@pytest.mark.parametrize("zone", ["tls://.", "https://example.org", "a:b", "example.org:99999"])
def test_zones_that_cannot_be_served_are_refused(zone: str) -> None:
    with pytest.raises(CorefileError):
        Bench("errors", zone)


def test_networks_are_reverse_zones() -> None:
    assert [names.to_text(z) for z in Bench("errors", "10.244.0.0/16").chain.zones] == [
        "244.10.in-addr.arpa."
    ]


@pytest.mark.parametrize("upstream", [("127.0.0.1:5300",), ()])
def test_the_usual_corefile_is_right_with_and_without_upstream_servers(upstream: tuple[str, ...]) -> None:
    (block,) = parse(usual_corefile("cluster.local", 53, upstream))
    known = {d.name for d in block.directives}
    assert {
        "errors",
        "health",
        "ready",
        "kubernetes",
        "prometheus",
        "cache",
        "loop",
        "reload",
        "loadbalance",
    } <= known
    assert ("forward" in known) == bool(upstream)
