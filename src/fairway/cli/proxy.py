"""`fairway proxy`: the node proxy, with the flags of kube-proxy.

Only how flags and files become a configuration belongs here; the flags themselves are in `proxy_flags`.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import yaml
from click.core import ParameterSource

from fairway.cli.proxy_flags import IGNORED, OOM_SCORE, PERIODS, with_flags
from fairway.client import KubeConfigError
from fairway.kernel.errors import KernelError
from fairway.proxy.config import Config, ConfigError, ConntrackLimits, check
from fairway.proxy.config_fields import WITHOUT_EFFECT, section_of, written
from fairway.proxy.config_file import read_config
from fairway.proxy.leftovers import CleanupFailed, remove_rules
from fairway.proxy.modes import ModeNotBuilt, check_mode
from fairway.proxy.run import run
from fairway.proxy.settings import LocalDetection
from fairway.proxy.spelling import feature_gates
from fairway.running import run_component

EXPECTED = (CleanupFailed, ConfigError, ModeNotBuilt, KubeConfigError, KernelError)
# Flags that kube-proxy honours beside --config, and those that only Fairway has.
BESIDE_FILE = {"hostname_override", "master", "v", "config", "cleanup", "write_config_to"}
OURS = {"service_cluster_ip_range", "nftables_scheduler", "iptables_style", "publish_progress"}


@click.command(help="Carry the traffic of a cluster's Services on this node.")
@with_flags
@click.pass_context
def command(context: click.Context, /, cleanup: bool, write_config_to: Path | None, **options: Any) -> None:
    try:
        if cleanup:
            remove_rules()
            return
        config = configured(context, options)
        if write_config_to:
            write_config_to.write_text(yaml.safe_dump(written(config), sort_keys=False))
            return
        check_mode(config.proxy_mode)
        level = logging.DEBUG if config.verbosity >= 4 else logging.INFO
        run_component("proxy", run(config), level)
    except EXPECTED as error:
        raise click.ClickException(str(error)) from error
    except ExceptionGroup as group:
        # What one of several tasks has raised.
        expected = group.subgroup(EXPECTED)
        if expected is None:
            raise
        raise click.ClickException(str(_first(expected))) from group


def _first(error: Exception) -> Exception:
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def configured(context: click.Context, options: dict[str, Any]) -> Config:
    """What flags, or the file and the flags that count beside it, make."""
    given = {name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    file: Path | None = options.pop("config")
    if file is None:
        return check(_from_flags(given, options))
    own = _from_flags(given & OURS, {name: options[name] for name in OURS})
    config = read_config(file, replace(own, oom_score_adj=OOM_SCORE))
    idle = {f"--{name.replace('_', '-')}": "--config is given" for name in given - BESIDE_FILE - OURS}
    config = replace(config, master=options["master"], without_effect={**config.without_effect, **idle})
    if options["hostname_override"]:
        config = replace(config, hostname_override=options["hostname_override"].lower())
    return check(replace(config, verbosity=options["v"]) if "v" in given else config)


def _from_flags(given: set[str], options: dict[str, Any]) -> Config:
    if "feature_gates" in given:
        _checked_gates(options["feature_gates"])
    ignored = {f"--{n.replace('_', '-')}": WITHOUT_EFFECT[IGNORED[n]] for n in IGNORED if n in given}
    values = {name: value for name, value in options.items() if name not in IGNORED}
    if "proxy_mode" in values:
        values |= _periods(values["proxy_mode"], given, {name: values.pop(name) for name in PERIODS})
    limits = {n.removeprefix("conntrack_"): values.pop(n) for n in list(values) if n.startswith("conntrack_")}
    return Config(**_renamed(values), conntrack=ConntrackLimits(**limits), without_effect=ignored)


def _renamed(values: dict[str, Any]) -> dict[str, Any]:
    """By the configuration's names, and as it holds them."""
    names = {"v": "verbosity", "iptables_masquerade_bit": "masquerade_bit"}
    found = {names.get(name, name): value for name, value in values.items()}
    node = found.pop("hostname_override", "")
    if node:
        found["hostname_override"] = node.lower()
    if "detect_local_mode" in found:
        found["detect_local_mode"] = LocalDetection(found["detect_local_mode"])
    return found


def _periods(mode: str, given: set[str], periods: dict[str, float]) -> dict[str, float]:
    """The mode's own flags; those of iptables count for all modes but ipvs, as with kube-proxy."""
    section = section_of(mode)
    chosen = {}
    for kind in ("sync_period", "min_sync_period"):
        own = f"{section}_{kind}"
        fallback = own if section == "ipvs" else f"iptables_{kind}"
        chosen[kind] = periods[own if own in given else fallback]
    return chosen


def _checked_gates(text: str) -> None:
    try:
        feature_gates(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--feature-gates") from error
