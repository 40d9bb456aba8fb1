"""What a proxy has put into a node's kernel, read by the tools that administrators use, made comparable.

Two ways of getting to the same Services may differ in what is a matter of history, such as which endpoint has
which slot; that is evened out here, and nothing else is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.netns.topology import Namespace

# Where the second pool of a frontend begins, in nftables mode.
_SECOND_POOL = 32768
_SLOTTED = ("-endpoints", "sticky-slots")


def state(mode: str, where: Namespace) -> object:
    return _READERS[mode](where)


def _nftables(where: Namespace) -> object:
    listed = json.loads(where.command("nft", "-j", "list", "ruleset"))["nftables"]
    found: dict[str, Any] = {}
    for entry in listed:
        ((kind, body),) = entry.items()
        if kind == "metainfo":
            continue
        owner = f"{kind} {body['family']} {body.get('table', body.get('name'))}"
        if kind in ("set", "map"):
            found[f"{owner} {body['name']}"] = _elements(body)
        elif kind == "rule":
            found.setdefault(f"{owner} {body['chain']}", []).append(json.dumps(body["expr"]))
        else:
            found[f"{owner} {body['name']}"] = body.get("hook"), body.get("prio")
    return found


def _elements(body: dict[str, Any]) -> object:
    slotted = body["name"].endswith(_SLOTTED)
    pools: dict[str, list[Any]] = {}
    for element in body.get("elem", ()):
        key, value = element if isinstance(element, list) else (element, None)
        if not slotted:
            pools[json.dumps(key)] = [json.dumps(value)]
            continue
        *frontend, slot = key["concat"]
        pool = pools.setdefault(json.dumps([frontend, int(slot) >= _SECOND_POOL]), [])
        pool.append((int(slot) % _SECOND_POOL, json.dumps(value)))
    if slotted:
        for pool in pools.values():
            assert sorted(slot for slot, _ in pool) == list(range(len(pool))), "a slot is missing"
        return {key: sorted(value for _, value in pool) for key, pool in pools.items()}
    return pools


def _iptables(where: Namespace) -> object:
    """Rules in their order, chains without: in which order those were made is of no consequence."""
    return {
        program: sorted(_without_counters(where.command(program)).splitlines())
        for program in ("iptables-save", "ip6tables-save")
    }


def _without_counters(text: str) -> str:
    rules = [line for line in text.splitlines() if not line.startswith(("#", "COMMIT"))]
    chains: dict[str, int] = {}
    numbered = []
    for rule in rules:
        if rule.startswith("-A "):
            chain = rule.split(" ", 2)[1]
            chains[chain] = chains.get(chain, 0) + 1
            # A rule's place in its chain matters.
            rule = f"{chain} {chains[chain]:4} {rule}"
        numbered.append(re.sub(r"\[\d+:\d+\]", "", rule))
    return "\n".join(numbered)


def _ipvs(where: Namespace) -> object:
    return {
        "servers": sorted(where.command("ipvsadm", "-Sn").splitlines()),
        "addresses": sorted(
            re.findall(r"inet6? \S+", where.command("ip", "addr", "show", "dev", "kube-ipvs0"))
        ),
        "sets": sorted(
            line for line in where.command("ipset", "save").splitlines() if line.startswith("add")
        ),
        "rules": _iptables(where),
    }


_READERS: dict[str, Callable[[Namespace], object]] = {
    "nftables": _nftables,
    "userspace": _nftables,
    "iptables": _iptables,
    "ipvs": _ipvs,
}
