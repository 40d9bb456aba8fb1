"""Formats of `log`, functions of `template`, and EDNS options put in by `rewrite`."""

from __future__ import annotations

import pytest
import structlog.testing

from fairway.dns.corefile import CorefileError
from fairway.dns.plugins.template import TemplatePlugin
from fairway.dns.wire import Edns
from tests.unit.dns.plugins.bench import Behind, Bench, answer, question


async def logged(lines: str) -> list[str]:
    plugin = Bench(lines).plugin("log")
    behind = Behind(answer("a.test. 5 IN A 10.0.0.1"))
    with structlog.testing.capture_logs() as found:
        await plugin.serve(question("a.test", client="10.0.0.7"), behind.handler)
    return [str(entry["event"]) for entry in found]


async def test_a_log_format_is_written_as_coredns_writes_it() -> None:
    (line,) = await logged(
        'log . "{remote} {name} {type} {class} {proto} {rcode} {>rflags} {>do} {nonsense}"'
    )
    assert line == "10.0.0.7 a.test. A IN udp NOERROR qr,rd false -"
    (line,) = await logged("log . {common}")
    assert line.startswith("10.0.0.7:")
    assert '"A IN a.test. udp 24 false 512" NOERROR qr,rd 40 0.000000000s' in line
    assert await logged("log example.org {common}") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ .Group.a }}", "7"),
        ("{{ index .Match 1 }}", "7"),
        ('{{ index .Group "a" }}', "7"),
        ("{{ parseInt .Group.a 16 32 }}", "7"),
        ('{{ printf "%03d" (parseInt .Group.a 10 8) }}', "007"),
        ("{{ slice .Name 0 3 }}", "n-7"),
        ('{{ if eq .Group.a "7" }}seven{{ else }}other{{ end }}', "seven"),
        ('{{ if eq .Group.a "8" }}a{{ else if eq .Type "TXT" }}b{{ else }}c{{ end }}', "b"),
        ('{{ .Name | len | printf "%d" }}', "16"),
        ("x {{- .Group.a -}} y", "x7y"),
        ("{{ .Question.Name }}", "n-7.example.org."),
        ("{{ index .Match 9 }}", ""),
    ],
)
async def test_template_functions_are_those_of_go(text: str, value: str) -> None:
    quoted = text.replace('"', '\\"')
    made = f'{{{{ .Name }}}} 5 IN TXT \\"={quoted}\\"'
    lines = f'template IN TXT example.org {{\n match n-(?P<a>[0-9]+)[.]\n answer "{made}"\n}}'
    plugin = Bench(lines).plugin("template")
    assert isinstance(plugin, TemplatePlugin)
    reply = await plugin.serve(question("n-7.example.org", "TXT"), Behind().handler)
    assert reply is not None
    assert reply.answer[0].data[1:].decode() == "=" + value


@pytest.mark.parametrize(
    "text", ["{{ .Nonsense }}", "{{ if .Name }}x", "{{ end }}", "{{ range .Match }}", "{{ }}"]
)
def test_templates_that_cannot_be_read_are_mistakes_of_the_corefile(text: str) -> None:
    with pytest.raises(CorefileError, match="plugin/template"):
        Bench(f'template IN A example.org {{\n answer "{text}"\n}}').plugin("template")


async def sent(rule: str, edns: Edns | None = None) -> bytes | None:
    """The options that go ahead."""
    behind = Behind(answer("a.test. 5 IN A 10.0.0.1"))
    plugin = Bench(f"rewrite edns0 {rule}").plugin("rewrite")
    await plugin.serve(question("a.test", client="10.1.2.3", edns=edns), behind.handler)
    found = behind.asked[-1].query.edns
    return found.options if found else None


THERE = Edns(1232, options=b"\xff\xee\x00\x01x")


async def test_edns_options_are_put_in_changed_and_taken_out() -> None:
    assert await sent("local set 0xffee 0x0102") == b"\xff\xee\x00\x02\x01\x02"
    assert await sent("local set 65518 abc", THERE) == b"\xff\xee\x00\x03abc"
    assert await sent("local append 0xffee abc", THERE) == THERE.options + b"\xff\xee\x00\x03abc"
    assert await sent("local replace 0xffee abc") is None
    assert await sent("local unset 0xffee", THERE) == b""
    assert await sent("local set 0xffee {client_ip}") == b"\xff\xee\x00\x04\x0a\x01\x02\x03"
    assert await sent("local set 0xffee {qname}") == b"\xff\xee\x00\x07a.test."
    assert await sent("nsid set") == b"\x00\x03\x00\x00"
    assert await sent("subnet set 24 56") == b"\x00\x08\x00\x07\x00\x01\x18\x00\x0a\x01\x02"


@pytest.mark.parametrize(
    "rule", ["local set x y", "local set 1 {nope}", "local set 1 0xzz", "subnet set 33 1", "foo"]
)
def test_wrong_edns_rules_are_mistakes_of_the_corefile(rule: str) -> None:
    with pytest.raises(CorefileError):
        Bench(f"rewrite edns0 {rule}").plugin("rewrite")
