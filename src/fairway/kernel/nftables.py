"""nftables: one interface, the kernel's own through libnftables, in the namespace it was opened in.

Transactions are text of the nft language; what they mean belongs to those who write them. A handle lives as
long as its owner: a change then costs half a millisecond, where a new `nft` process costs four.
Calls block and release the interpreter lock; make them from one thread at a time. The fake is in
`fake_nftables`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from fairway.kernel import nfnetlink, nftables_elements
from fairway.kernel.errors import KernelError
from fairway.kernel.nfnetlink_batch import Transactions
from fairway.kernel.nftables_elements import Refill

_JSON_OUTPUT = 1 << 4
_TERSE_OUTPUT = 1 << 11

_SUBSYSTEM = nftables_elements.SUBSYSTEM << 8
_GET_RULES, _GET_ELEMENTS, _GET_GENERATION = _SUBSYSTEM | 7, _SUBSYSTEM | 13, _SUBSYSTEM | 16
_NEW_GENERATION = _SUBSYSTEM | 15
_GENERATION_ID, _GENERATION_THREAD = 1, 2
_ANNOUNCED = 7
_ELEMENT_LIST = 3
_LARGE = 1 << 18
_TOO_LARGE = os.strerror(errno.EMSGSIZE)


class NftablesError(KernelError):
    """The kernel, or nft's parser, refused a transaction. Nothing of it is in force."""


class TransactionTooLarge(NftablesError):
    """More than the kernel takes at once. Without root, that is a few thousand elements."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Enough of a table to see whether someone has changed it: its rules, digested, and the size of sets."""

    rules: int = 0
    elements: Mapping[str, int] = field(default_factory=dict)


class Nftables(Protocol):
    """What the rest of Fairway may ask of nftables."""

    def run(self, transaction: str) -> None:
        """Apply all of it or nothing."""

    def refill(self, refills: Iterable[Refill]) -> int:
        """Replace what sets hold, all of it or nothing, unless it is too large: then in several transactions.

        Returns how many it took.
        """

    def query(self, command: str, terse: bool = False) -> list[dict[str, Any]]:
        """The objects that a `list` command names, as nft's JSON describes them; terse: without elements."""

    def generation(self) -> int:
        """A number that rises by one with every transaction in this namespace, whoever makes it."""

    def contents(self, family: str, table: str, sets: Collection[str]) -> Contents | None:
        """None if the table or one of the sets doesn't exist, or changes while it is read."""

    def close(self) -> None: ...


class LibNftables:
    """The real thing: a libnftables handle, and a socket of our own to ask for the generation."""

    def __init__(self) -> None:
        self._library = _load()
        self._handle = self._library.nft_ctx_new(0)
        if not self._handle:
            raise NftablesError("libnftables gave no handle: is this kernel without nf_tables?")
        self._library.nft_ctx_buffer_output(self._handle)
        self._library.nft_ctx_buffer_error(self._handle)
        self._socket = nfnetlink.Socket()
        self._transactions = Transactions(nftables_elements.SUBSYSTEM)

    def run(self, transaction: str) -> None:
        self._call(transaction.encode(), 0)
        if len(transaction) > _LARGE:
            # libnftables used forty times the size of the text, and the C library would keep all of it.
            self._library.malloc_trim(0)

    def refill(self, refills: Iterable[Refill]) -> int:
        requests = (request for refill in refills for request in nftables_elements.requests(refill))
        try:
            return self._transactions.commit(requests)
        except nfnetlink.NetfilterError as error:
            raise NftablesError(f"could not fill the sets: {error.strerror}") from error
        finally:
            self._library.malloc_trim(0)

    def query(self, command: str, terse: bool = False) -> list[dict[str, Any]]:
        answer = self._call(command.encode(), _JSON_OUTPUT | (_TERSE_OUTPUT if terse else 0))
        objects: list[dict[str, Any]] = msgspec.json.decode(answer)["nftables"] if answer else []
        return objects

    def generation(self) -> int:
        return generation(self._socket)

    def contents(self, family: str, table: str, sets: Collection[str]) -> Contents | None:
        try:
            return _contents(self._socket, family, table, sets)
        except nfnetlink.Interrupted:
            return None
        except nfnetlink.NetfilterError as error:
            if error.errno != errno.ENOENT:
                raise
            return None

    def close(self) -> None:
        if self._handle:
            self._library.nft_ctx_free(self._handle)
            self._handle = None
            self._socket.close()
            self._transactions.close()

    def _call(self, text: bytes, flags: int) -> bytes:
        if not self._handle:
            raise NftablesError("this handle is closed")
        self._library.nft_ctx_output_set_flags(self._handle, flags)
        failed = self._library.nft_run_cmd_from_buffer(self._handle, text)
        # Both buffers are emptied by reading them.
        output: bytes = self._library.nft_ctx_get_output_buffer(self._handle) or b""
        error: bytes = self._library.nft_ctx_get_error_buffer(self._handle) or b""
        if failed:
            reason = _first_lines(error) or "refused without a reason"
            raise TransactionTooLarge(reason) if _TOO_LARGE in reason else NftablesError(reason)
        return output


class TableWatch:
    """Tells when another process has committed something about tables of one name."""

    def __init__(self, table: str) -> None:
        self._announcements = nfnetlink.Announcements(_ANNOUNCED)
        self._name = table.encode() + b"\0"
        self._named = False

    def fileno(self) -> int:
        return self._announcements.fileno()

    def was_touched(self) -> bool:
        """Reads all that has been announced. Also true if too much was announced to know."""
        touched = False
        for message in self._announcements.take():
            if message is None:
                touched, self._named = True, False
                continue
            kind, attributes = message
            if kind != _NEW_GENERATION:
                self._named = self._named or self._name in attributes
                continue
            # The last message of a commit.
            touched = touched or (self._named and not _is_own(attributes))
            self._named = False
        return touched

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What is committed meanwhile is not announced: that takes longer than the commit of a large set."""
        self._announcements.leave()
        try:
            yield
        finally:
            self._announcements.join()

    def close(self) -> None:
        self._announcements.close()


def _is_own(attributes: bytes) -> bool:
    """Whether a thread of this process made the commit. Numbers differ inside a container: then never."""
    thread = int.from_bytes(dict(nfnetlink.attributes(attributes)).get(_GENERATION_THREAD, b""), "big")
    return os.path.exists(f"/proc/self/task/{thread}")


def generation(connection: nfnetlink.Socket) -> int:
    answer = dict(nfnetlink.attributes(connection.get(_GET_GENERATION)))
    return int.from_bytes(answer[_GENERATION_ID], "big")


def _contents(connection: nfnetlink.Socket, family: str, table: str, sets: Collection[str]) -> Contents:
    number = nfnetlink.FAMILIES[family]
    name = nfnetlink.text(1, table)
    rules = zlib.crc32(b"".join(connection.dump(_GET_RULES, number, name)))
    counts: dict[str, int] = {}
    for entry in sets:
        messages = connection.dump(_GET_ELEMENTS, number, name + nfnetlink.text(2, entry))
        lists = [dict(nfnetlink.attributes(message)).get(_ELEMENT_LIST, b"") for message in messages]
        counts[entry] = sum(1 for elements in lists for _ in nfnetlink.attributes(elements))
    return Contents(rules, counts)


def _first_lines(error: bytes, limit: int = 1500) -> str:
    """Errors quote the offending line, which may be megabytes long."""
    return "\n".join(
        line[:300] for line in error.decode(errors="replace")[:limit].splitlines() if line.strip()
    )


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libnftables.so.1")
    except OSError as error:
        raise NftablesError("libnftables.so.1 is missing: install the package nftables") from error
    handle = ctypes.c_void_p
    library.nft_ctx_new.argtypes = [ctypes.c_uint32]
    library.nft_ctx_new.restype = handle
    for name in ("nft_ctx_free", "nft_ctx_buffer_output", "nft_ctx_buffer_error"):
        getattr(library, name).argtypes = [handle]
    library.nft_ctx_output_set_flags.argtypes = [handle, ctypes.c_uint]
    library.nft_run_cmd_from_buffer.argtypes = [handle, ctypes.c_char_p]
    for name in ("nft_ctx_get_output_buffer", "nft_ctx_get_error_buffer"):
        getattr(library, name).argtypes = [handle]
        getattr(library, name).restype = ctypes.c_char_p
    return library
