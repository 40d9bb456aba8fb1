"""Which form of answer a client asked for: JSON or YAML, and the object itself, a Table, or only metadata.
Pure.

What we cannot speak (protobuf) is answered in JSON, which every client that asks for it understands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from fairway.api.errors import not_acceptable

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PRODUCED: Final = (JSON, YAML, "application/vnd.kubernetes.protobuf")
STREAMS: Final = (f"{JSON};stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
STREAMED: Final = (*PRODUCED, *STREAMS)
SHAPES: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


@dataclass(frozen=True, slots=True)
class Form:
    """`shape` is "", "Table", "PartialObjectMetadata" or "PartialObjectMetadataList"."""

    shape: str = ""
    version: str = "v1"
    yaml: bool = False
    pretty: bool = False

    @property
    def table(self) -> bool:
        return self.shape == "Table"

    @property
    def partial(self) -> bool:
        return self.shape.startswith("PartialObjectMetadata")


PLAIN: Final = Form()


def demand_known_type(accept: str, produced: tuple[str, ...]) -> None:
    """406 if no type that the path produces, with whatever parameters, is named in an Accept header."""
    if accept and not _names_known_type(accept):
        available = ", ".join(produced)
        text = f"406: Not Acceptable\n\nAvailable representations: {available}"
        raise not_acceptable(text, by_route=True)


@lru_cache(maxsize=512)
def _names_known_type(accept: str) -> bool:
    return any(part.partition(";")[0].strip() in ("*/*", *PRODUCED) for part in accept.split(","))


def wanted_form(accept: str) -> Form:
    """The best alternative that we have."""
    return _acceptable(_first_form(accept))


def described_form(accept: str) -> Form:
    """The same for discovery, which is never shown as a Table or as metadata."""
    return _acceptable(_first_form(accept, shapes=()))


def _acceptable(form: Form | None) -> Form:
    if form is None:
        known = ", ".join(PRODUCED)
        raise not_acceptable(f"only the following media types are accepted: {known}")
    return form


@lru_cache(maxsize=512)
def _first_form(accept: str, shapes: tuple[str, ...] = SHAPES) -> Form | None:
    if not accept:
        return PLAIN
    for media, parameters in alternatives(accept):
        for known in PRODUCED:
            if media not in (known, "*/*", "application/*"):
                continue
            if form := _form(parameters, known == YAML, shapes):
                return form
    return None


def alternatives(accept: str) -> list[tuple[str, dict[str, str]]]:
    """What a client accepts: the best first, of equals the most particular, of those the one named first."""
    found = []
    for alternative in accept.split(","):
        media, *parameters = (part.strip() for part in alternative.split(";"))
        values = dict(parameter.partition("=")[::2] for parameter in parameters)
        found.append((_quality(values.pop("q", "1")), media, values))
    found.sort(key=lambda each: (-each[0], each[1].startswith("*"), each[1].endswith("*")))
    return [(media, values) for _, media, values in found]


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _form(parameters: dict[str, str], yaml: bool, shapes: tuple[str, ...]) -> Form | None:
    shape, version = parameters.get("as", ""), parameters.get("v", "")
    pretty = parameters.get("pretty") == "1"
    if not (shape or version or parameters.get("g")):
        return Form(yaml=yaml, pretty=pretty) if yaml or pretty else PLAIN
    known = shape in shapes and parameters.get("g") == "meta.k8s.io" and version in ("v1", "v1beta1")
    return Form(shape, version, yaml, pretty) if known else None
