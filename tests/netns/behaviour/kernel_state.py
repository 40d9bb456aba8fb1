"""What a proxy has put into a node's kernel, read by the tools that administrators use, made comparable.

Two ways of getting to the same Services may differ in what is a matter of history, such as which endpoint has
which slot and which mark has which number; that is evened out here, and nothing else is.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.netns.topology import Namespace

# Where the second pool of a frontend begins, in nftables mode.
_SECOND_POOL = 32768
_SLOTTED = ("-endpoints", "sticky-slots")
_RELAY = re.compile(r'((?:169[.]254[.]96[.]|fd00:fa17:a796::)[0-9a-f]+\\*)", [0-9]+')


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


def _userspace(where: Namespace) -> object:
    """Which port of the relay a Service has is a matter of history, too."""
    return json.loads(_RELAY.sub(r'\1", 0', json.dumps(_nftables(where))))


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


# Chains that the rules of all Services stand in, in an order that is a matter of history.
_SHARED = ("KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL")
_FRONTEND = re.compile(r"(-d \S+ )?-p \S+ .*--dport \d+")


def _iptables(where: Namespace) -> object:
    return {
        program: sorted(_placed_rules(where.command(program)))
        for program in ("iptables-save", "ip6tables-save")
    }


def _placed_rules(text: str) -> Iterator[str]:
    """Every chain and every rule, with the rule's place where that decides anything."""
    before: Counter[str] = Counter()
    table = ""
    for line in text.splitlines():
        if line.startswith("*"):
            table = line
        if not line.startswith("-A "):
            if not line.startswith(("#", "COMMIT")):
                yield f"{table} {line.partition(' [')[0]}"
            continue
        _, chain, rule = line.split(" ", 2)
        owner = f"{table} {chain}"
        if chain in _SHARED and (frontend := _FRONTEND.search(rule)):
            # Only among rules for the same address and port does the first one win.
            owner += re.sub(r' -m comment --comment "[^"]*"', "", frontend[0])
        before[owner] += 1
        yield f"{owner} {before[owner]:4} {rule}"


_MARKED = {"": "KUBE-INTERNAL", " -6": "KUBE-6-INTERNAL"}
_MARKED_SERVER = re.compile(r"-f (\d+)( -6|)")
_MARK = re.compile(r" skbmark (0x[0-9a-f]+)")


def _ipvs(where: Namespace) -> object:
    """A mark's number is as good as any other, so what has one is known by the addresses that lead to it."""
    members = [line for line in where.command("ipset", "save").splitlines() if line.startswith("add")]

    def leading_to(server: re.Match[str]) -> str:
        beginning = f"add {_MARKED[server[2]]} "
        mark = f" skbmark {int(server[1]):#x}"
        return f"-f {sorted(m for m in members if m.startswith(beginning) and m.endswith(mark))}"

    servers = where.command("ipvsadm", "-Sn").splitlines()
    return {
        "servers": sorted(_MARK.sub("", _MARKED_SERVER.sub(leading_to, line)) for line in servers),
        "addresses": sorted(
            re.findall(r"inet6? \S+", where.command("ip", "addr", "show", "dev", "kube-ipvs0"))
        ),
        "sets": sorted(_MARK.sub("", line) for line in members),
        "rules": _iptables(where),
    }


_READERS: dict[str, Callable[[Namespace], object]] = {
    "nftables": _nftables,
    "userspace": _userspace,
    "iptables": _iptables,
    "ipvs": _ipvs,
}
