"""`template CLASS TYPE [ZONES…] { match; answer; additional; authority; rcode; fallthrough }`: made-up
answers.

Records are texts with `{{ .Name }}`, `{{ .Group.x }}` and the like in them; `text` fills them in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairway.dns import names, rdata, wire
from fairway.dns.arguments import in_zones, overlap, zones
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.plugins.template.text import Text
from fairway.dns.wire import Record, Reply
from fairway.dns.zone.zone import Zone


@dataclass(frozen=True)
class Template:
    rdclass: int
    rdtype: int
    zones: tuple[bytes, ...]
    patterns: tuple[re.Pattern[str], ...]
    answer: tuple[Text, ...]
    authority: tuple[Text, ...]
    additional: tuple[Text, ...]
    rcode: int
    fallthrough: tuple[bytes, ...]

    def concerns(self, request: Request) -> bool:
        query = request.query
        return (
            in_zones(request.name, self.zones)
            and self.rdclass in (query.rdclass, wire.CLASS_ANY)
            and self.rdtype in (query.type, wire.ANY)
        )

    def match(self, name: str) -> re.Match[str] | None:
        return next((found for pattern in self.patterns if (found := pattern.search(name))), None)


class TemplatePlugin(Plugin):
    name = "template"
    repeats = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        self._templates = [_template(line, setup) for line in directives]

    def passes(self, zone: Zone) -> bool:
        held = [held for template in self._templates for held in template.zones]
        return not overlap(zone.settings.zones, held)

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        name = names.to_text(request.name)
        for template in self._templates:
            if not template.concerns(request):
                continue
            found = template.match(name)
            if found:
                return await self._reply(template, request, found)
            if not in_zones(request.name, template.fallthrough):
                return Reply(wire.NXDOMAIN, flags=wire.AA)
        return await ahead(request)

    async def _reply(self, template: Template, request: Request, found: re.Match[str]) -> Reply:
        zone = next(zone for zone in template.zones if names.is_under(request.name, zone))
        request.note("template: made up by a template of the Corefile")
        values = _values(request, zone, found)
        try:
            answer, authority, additional = (
                tuple(rdata.record(text.fill(values)) for text in texts)
                for texts in (template.answer, template.authority, template.additional)
            )
        except rdata.RecordError:
            return Reply(wire.SERVFAIL)
        answer += await _followed(request, answer)
        return Reply(template.rcode, answer, authority, additional, wire.AA)


async def _followed(request: Request, answer: tuple[Record, ...]) -> tuple[Record, ...]:
    """What a CNAME made up here leads to."""
    if not answer or answer[-1].type != wire.CNAME or request.query.type in (wire.CNAME, wire.ANY):
        return ()
    return (await request.lookup(request, answer[-1].data, request.query.type)).answer


def _values(request: Request, zone: bytes, found: re.Match[str]) -> dict[str, Any]:
    query = request.query
    name = names.to_text(request.name)
    rdclass = {number: text for text, number in rdata.CLASSES.items()}.get(query.rdclass, str(query.rdclass))
    matches = [found[0], *(group or "" for group in found.groups())]
    return {
        "Name": name,
        "Zone": names.to_text(zone),
        "Type": rdata.type_text(query.type),
        "Class": rdclass,
        "Remote": request.client,
        "Match": matches,
        # As in CoreDNS: groups by number, and those with a name by that, too.
        "Group": {str(number): text for number, text in enumerate(matches)}
        | {group: text or "" for group, text in found.groupdict().items()},
        "Question": {"Name": name, "Qtype": query.type, "Qclass": query.rdclass},
        "Message": {"Id": query.id},
        "Meta": {},
    }


def _template(line: Directive, setup: Setup) -> Template:
    if len(line.args) < 2:
        raise line.wrong_arguments()
    try:
        rdclass, rdtype = rdata.class_number(line.args[0]), rdata.type_number(line.args[1])
    except rdata.RecordError as error:
        raise line.error(f"plugin/template: {error}") from None
    texts: dict[str, list[Text]] = {"answer": [], "authority": [], "additional": []}
    patterns: list[re.Pattern[str]] = []
    rcode = wire.NOERROR
    fallthrough: tuple[bytes, ...] = ()
    for inner in line.body:
        match inner.name:
            case "match":
                patterns += [_pattern(inner, arg) for arg in inner.args]
            case "answer" | "authority" | "additional":
                texts[inner.name] += [Text.parse(inner, arg) for arg in inner.args]
            case "rcode":
                rcode = _rcode(inner)
            case "fallthrough":
                fallthrough = zones(inner, inner.args, (names.ROOT,))
            case "upstream" | "ederror":
                pass
            case _:
                raise inner.unknown_property("template")
    return Template(
        rdclass,
        rdtype,
        zones(line, line.args[2:], setup.zones),
        tuple(patterns) or (re.compile(".*"),),
        tuple(texts["answer"]),
        tuple(texts["authority"]),
        tuple(texts["additional"]),
        rcode,
        fallthrough,
    )


def _pattern(line: Directive, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise line.error(f"plugin/template: could not parse regex '{text}': {error}") from None


def _rcode(line: Directive) -> int:
    try:
        return rdata.rcode_number(line.one())
    except rdata.RecordError:
        raise line.error(f"plugin/template: unknown rcode '{line.args[0]}'") from None


PLUGIN = TemplatePlugin
