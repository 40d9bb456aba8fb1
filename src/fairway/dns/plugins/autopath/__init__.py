"""`autopath [ZONES…] RESOLV-CONF | @kubernetes`: walks a client's search list for it, in one question
instead of many.

A client that asks for `name.NAMESPACE.svc.ZONE` means `name` and would go on with the next domain itself;
the first domain that has the name is answered, behind a CNAME.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fairway.dns import names, wire
from fairway.dns.arguments import in_zones, zones
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.plugins.kubernetes import Kubernetes
from fairway.dns.wire import Record, Reply

_RESOLV_CONF = "/etc/resolv.conf"


class Autopath(Plugin):
    name = "autopath"

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        if not line.args:
            raise line.wrong_arguments()
        source = line.args[-1]
        self._zones = zones(line, line.args[:-1], setup.zones)
        self._of_pods = source == "@kubernetes"
        if source.startswith("@") and not self._of_pods:
            raise line.error(f"plugin/autopath: '{source}' has no search lists to offer")
        try:
            content = setup.around.read_file(_RESOLV_CONF if self._of_pods else source)
        except OSError:
            if not self._of_pods:
                raise line.error(f"plugin/autopath: failed to parse '{source}'") from None
            content = ""
        self._search = search_list(content)

    async def start(self) -> None:
        kubernetes = self.setup.plugins.get("kubernetes")
        if self._of_pods and not (
            isinstance(kubernetes, Kubernetes) and kubernetes.options.settings.pods == "verified"
        ):
            line = next(line for line in self.setup.block.directives if line.name == self.name)
            raise line.error(
                "plugin/autopath: '@kubernetes' needs 'kubernetes' with 'pods verified' in the block"
            )

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        path = self._path(request.client) if in_zones(request.name, self._zones) else []
        first = path[0] if path else names.ROOT
        base = request.query.name[: len(request.query.name) - len(first)]
        if not path or not base or not names.is_under(request.name, first):
            return await ahead(request)
        return await self._walk(request, ahead, base, path)

    def _path(self, client: str) -> list[bytes]:
        """The domains a client searches, most special first; empty if nothing is known of it."""
        if not self._of_pods:
            return self._search
        kubernetes = self.setup.plugins.get("kubernetes")
        address = names.packed(client)
        if not isinstance(kubernetes, Kubernetes) or address is None:
            return []
        namespaces = kubernetes.zone.namespaces_of_pod(address)
        zone = kubernetes.zone.settings.primary
        if len(set(namespaces)) != 1:
            return []
        services = b"\x03svc" + zone
        return [names.join((namespaces[0].encode(),)) + services, services, zone, *self._search]

    async def _walk(
        self, request: Request, ahead: Handler, base: bytes, path: Sequence[bytes]
    ) -> Reply | None:
        first: Reply | None = None
        for domain in (*path, names.ROOT):
            if len(base) + len(domain) > names.MAX_NAME:
                continue
            name = base + domain
            reply = await ahead(request.asking(msgspec.structs.replace(request.query, name=name)))
            if reply is not None and reply.rcode != wire.NXDOMAIN:
                request.note(f"autopath: found as {names.to_text(name)}")
                return reply if name == request.query.name else _behind_cname(reply, request.query.name, name)
            first = first or reply
        return first


def _behind_cname(reply: Reply, asked: bytes, found: bytes) -> Reply:
    """The answer for `found`, given for `asked`: a CNAME answers every type (RFC 1034 section 4.3.2)."""
    if reply.rcode != wire.NOERROR or reply.flags & wire.TC:
        return reply
    ttl = next((record.ttl for record in (*reply.answer, *reply.authority)), 0)
    return msgspec.structs.replace(reply, answer=(Record(asked, wire.CNAME, ttl, found), *reply.answer))


def search_list(content: str) -> list[bytes]:
    """The domains of the last `search` line of a resolv.conf."""
    found: list[bytes] = []
    for line in content.splitlines():
        words = line.split()
        if words and words[0] == "search":
            found = [names.from_text(word.lower()) for word in words[1:]]
    return found


PLUGIN = Autopath
