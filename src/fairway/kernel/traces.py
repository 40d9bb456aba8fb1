"""What packet filters, of whatever program, hold in this network namespace: names only, no program started.

For those who must know whether there is something to clean up. Looking changes nothing.
"""

from __future__ import annotations

import contextlib
import errno
from dataclasses import dataclass
from pathlib import Path

from fairway.kernel import nfnetlink

_NET = Path("/proc/thread-self/net")
_SUBSYSTEM = 10 << 8
_GET_TABLES, _GET_CHAINS = _SUBSYSTEM | 1, _SUBSYSTEM | 4
_NAME_OF_TABLE, _NAME_OF_CHAIN = 1, 3
# Loading a module for the question is no harm, but there may be none.
_MISSING = (errno.EOPNOTSUPP, errno.EPROTONOSUPPORT, errno.EINVAL, errno.ENOENT)


@dataclass(frozen=True, slots=True)
class Traces:
    tables: frozenset[str] = frozenset()
    chains: frozenset[str] = frozenset()
    """Of nftables, where today's iptables keeps its chains, too."""
    legacy_tables: frozenset[str] = frozenset()
    """Of the old iptables, whose chains can't be listed cheaply."""
    devices: frozenset[str] = frozenset()


def traces() -> Traces:
    legacy = {name for file in ("ip_tables_names", "ip6_tables_names") for name in _lines(file)}
    with contextlib.closing(nfnetlink.Socket()) as connection:
        return Traces(
            _names(connection, _GET_TABLES, _NAME_OF_TABLE),
            _names(connection, _GET_CHAINS, _NAME_OF_CHAIN),
            frozenset(legacy),
            frozenset(line.split(":")[0].strip() for line in _lines("dev") if ":" in line),
        )


def _names(connection: nfnetlink.Socket, kind: int, attribute: int) -> frozenset[str]:
    try:
        messages = connection.dump(kind)
    except nfnetlink.Interrupted:
        return _names(connection, kind, attribute)
    except nfnetlink.NetfilterError as error:
        if error.errno in _MISSING:
            return frozenset()
        raise
    names = [dict(nfnetlink.attributes(message)).get(attribute, b"") for message in messages]
    return frozenset(name.rstrip(b"\0").decode() for name in names)


def _lines(file: str) -> list[str]:
    try:
        return (_NET / file).read_text().splitlines()
    except OSError:
        return []
