"""Projected volumes: files from several sources in one directory."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.certificates import validate_pod_certificate, validate_trust_bundle
from fairway.api.kinds.pod_spec.paths import validate_file_mode, validate_not_reserved
from fairway.api.kinds.pod_spec.volume_files import validate_downward_file, validate_key_to_path
from fairway.api.validation.fields import ErrorList, forbidden_field, invalid_value, required

SHORTEST_TOKEN: Final = 600
LONGEST_TOKEN: Final = 2**32
DUPLICATE: Final = "conflicting duplicate paths"
ONE_TYPE: Final = "may not specify more than 1 volume type per source"
KINDS: Final = (
    "secret",
    "configMap",
    "downwardAPI",
    "serviceAccountToken",
    "clusterTrustBundle",
    "podCertificate",
)


class Paths:
    """The files of one volume: no two of one path. Complaints are about the volume."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._taken: set[str] = set()

    def take(self, path: str, shown: str) -> ErrorList:
        if path in self._taken:
            return [invalid_value(self._field, shown, DUPLICATE)]
        self._taken.add(path)
        return []


def validate_projected(field: str, volume: Obj) -> ErrorList:
    errors = validate_file_mode(f"{field}.defaultMode", volume.get("defaultMode"))
    paths = Paths(field)
    for index, source in enumerate(volume.get("sources") or ()):
        errors += _validate_source(field, f"{field}.sources[{index}]", source, paths)
    return errors


def _validate_source(volume: str, field: str, source: Obj, paths: Paths) -> ErrorList:
    errors: ErrorList = []
    for kind in ("secret", "configMap"):
        if (keyed := source.get(kind)) is not None:
            errors += _validate_keyed(f"{field}.{kind}", keyed, paths)
    if (downward := source.get("downwardAPI")) is not None:
        for item in downward.get("items") or ():
            errors += validate_downward_file(f"{field}.downwardAPI", item)
            errors += _take(item.get("path", ""), item.get("path", ""), paths)
    if (token := source.get("serviceAccountToken")) is not None:
        errors += _validate_token(volume, f"{field}.serviceAccountToken", token)
    if (bundle := source.get("clusterTrustBundle")) is not None:
        errors += validate_trust_bundle(f"{field}.clusterTrustBundle", bundle)
        errors += paths.take(bundle.get("path", ""), bundle.get("path", ""))
    if (certificate := source.get("podCertificate")) is not None:
        errors += validate_pod_certificate(f"{field}.podCertificate", certificate, paths.take)
    if sum(source.get(kind) is not None for kind in KINDS) > 1:
        errors.append(forbidden_field(field, ONE_TYPE))
    return errors


def _validate_keyed(field: str, source: Obj, paths: Paths) -> ErrorList:
    name = source.get("name", "")
    errors: ErrorList = [] if name else [required(f"{field}.name")]
    for index, item in enumerate(source.get("items") or ()):
        errors += validate_key_to_path(f"{field}.items[{index}]", item)
        errors += _take(item.get("path", ""), name, paths)
    return errors


def _take(path: str, shown: str, paths: Paths) -> ErrorList:
    return paths.take(path, shown) if path else []


def _validate_token(volume: str, field: str, token: Obj) -> ErrorList:
    seconds = token.get("expirationSeconds") or 0
    errors: ErrorList = []
    if seconds < SHORTEST_TOKEN:
        detail = "may not specify a duration less than 10 minutes"
        errors.append(invalid_value(f"{field}.expirationSeconds", seconds, detail))
    if seconds > LONGEST_TOKEN:
        detail = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid_value(f"{field}.expirationSeconds", seconds, detail))
    if not token.get("path"):
        return [*errors, required(f"{volume}.path")]
    return errors + validate_not_reserved(f"{volume}.path", token["path"])
