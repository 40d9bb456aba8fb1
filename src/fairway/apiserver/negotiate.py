"""Which form of answer a client asked for: the object itself, a Table, or only metadata. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """`shape` is "", "Table", "PartialObjectMetadata" or "PartialObjectMetadataList"."""

    shape: str = ""
    pretty: bool = False

    @property
    def table(self) -> bool:
        return self.shape == "Table"

    @property
    def partial(self) -> bool:
        return self.shape.startswith("PartialObjectMetadata")


PLAIN = Form()
KNOWN = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


def wanted_form(accept: str) -> Form:
    """The first acceptable alternative; what we cannot speak (protobuf, CBOR) is answered in JSON."""
    if "as=" not in accept:
        return PLAIN
    for alternative in accept.split(","):
        media, *parameters = (part.strip() for part in alternative.split(";"))
        values = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media not in ("application/json", "*/*", "application/*", "application/yaml"):
            continue
        if not values.get("as"):
            return PLAIN
        if (
            values["as"] in KNOWN
            and values.get("g") == "meta.k8s.io"
            and values.get("v") in ("v1", "v1beta1")
        ):
            return Form(values["as"])
    return PLAIN
