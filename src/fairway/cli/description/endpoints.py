"""An Endpoints object, described."""

from __future__ import annotations

from fairway.cli.description.text import NONE, Obj, Writer, head, listed, pairs, write_annotations


def describe(writer: Writer, endpoints: Obj) -> None:
    head(writer, endpoints)
    listed(writer, "Labels", pairs(endpoints["metadata"].get("labels")))
    write_annotations(writer, endpoints)
    writer.line(0, "Subsets:")
    for subset in endpoints.get("subsets") or ():
        for title, key in (("Addresses", "addresses"), ("NotReadyAddresses", "notReadyAddresses")):
            writer.field(title, ",".join(a["ip"] for a in subset.get(key) or ()) or NONE, 1)
        if ports := subset.get("ports"):
            writer.line(1, "Ports:")
            writer.line(2, "Name\tPort\tProtocol")
            writer.line(2, "----\t----\t--------")
            for port in ports:
                name = port.get("name") or "<unset>"
                writer.line(2, f"{name}\t{port['port']}\t{port.get('protocol', 'TCP')}")
        writer.line(0, "")
