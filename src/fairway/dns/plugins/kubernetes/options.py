"""The options of the `kubernetes` directive, read into the zone's settings. Names and meanings are
CoreDNS's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from fairway.api.selectors import Selector, SelectorError, parse_label_selector
from fairway.dns import names
from fairway.dns.arguments import integer, zones
from fairway.dns.corefile import Directive
from fairway.dns.zone.model import PodMode, Settings

_PLUGIN = "kubernetes"
_MAX_TTL = 3600
_POD_MODES = ("disabled", "insecure", "verified")
_IGNORED = (
    "resyncperiod",
    "upstream",
    "startup_timeout",
    "apiserver_qps",
    "apiserver_burst",
    "apiserver_max_inflight",
)
"""Properties that ask for nothing here: we neither resync nor limit ourselves, and look names up
ourselves."""


@dataclass(frozen=True)
class Options:
    settings: Settings
    fallthrough: tuple[bytes, ...] = ()
    kubeconfig: str = ""


def parse(directive: Directive, block_zones: tuple[bytes, ...]) -> Options:
    settings = Settings(zones=zones(directive, directive.args, block_zones))
    options = Options(settings)
    for line in directive.body:
        reader = _READERS.get(line.name)
        if reader is None:
            raise line.unknown_property(_PLUGIN)
        options = reader(options, line)
    if options.settings.namespaces and options.settings.namespace_labels:
        raise directive.error("plugin/kubernetes: namespaces and namespace_labels cannot both be set")
    return options


def _set(options: Options, **changes: object) -> Options:
    return replace(options, settings=replace(options.settings, **changes))  # type: ignore[arg-type]


def _pods(options: Options, line: Directive) -> Options:
    mode = line.one()
    if mode not in _POD_MODES:
        raise line.error(
            f"plugin/kubernetes: wrong value for pods: '{mode}', must be one of: {', '.join(_POD_MODES)}"
        )
    return _set(options, pods=cast(PodMode, mode))


def _ttl(options: Options, line: Directive) -> Options:
    return _set(options, ttl=integer(line, line.one(), 0, _MAX_TTL))


def _namespaces(options: Options, line: Directive) -> Options:
    if not line.args:
        raise line.wrong_arguments()
    return _set(options, namespaces=options.settings.namespaces | frozenset(line.args))


def _selector(line: Directive) -> Selector:
    if not line.args:
        raise line.wrong_arguments()
    try:
        return parse_label_selector(" ".join(line.args))
    except SelectorError as error:
        raise line.error(f"plugin/kubernetes: {error}") from None


def _fallthrough(options: Options, line: Directive) -> Options:
    return replace(options, fallthrough=zones(line, line.args, (names.ROOT,)))


def _kubeconfig(options: Options, line: Directive) -> Options:
    if not 1 <= len(line.args) <= 2:
        raise line.wrong_arguments()
    return replace(options, kubeconfig=" ".join(line.args))


def _ignore(options: Options, line: Directive) -> Options:
    if line.one() != "empty_service":
        raise line.error(f"plugin/kubernetes: unable to parse ignore value: '{line.args[0]}'")
    return _set(options, empty_services=False)


def _flag(name: str, value: bool) -> Callable[[Options, Directive], Options]:
    def read(options: Options, line: Directive) -> Options:
        line.none()
        return _set(options, **{name: value})

    return read


_READERS: dict[str, Callable[[Options, Directive], Options]] = {
    "pods": _pods,
    "ttl": _ttl,
    "namespaces": _namespaces,
    "labels": lambda options, line: _set(options, labels=_selector(line)),
    "namespace_labels": lambda options, line: _set(options, namespace_labels=_selector(line)),
    "endpoint_pod_names": _flag("endpoint_pod_names", True),
    "noendpoints": _flag("endpoints", False),
    "ignore": _ignore,
    "fallthrough": _fallthrough,
    "kubeconfig": _kubeconfig,
    **{name: lambda options, line: options for name in _IGNORED},
}
