"""What a Pod's volumes hold and where containers see them. Pure; `sandbox` writes the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fairway.nodeagent.objects import (
    ConfigMapSource,
    Container,
    DownwardSource,
    KeyToPath,
    Pod,
    ProjectedPart,
    SecretSource,
    TokenSource,
    Volume,
)
from fairway.nodeagent.pods.downward import ConfigError, Facts, field_value
from fairway.nodeagent.pods.environment import References
from fairway.nodeagent.pods.expansion import expand
from fairway.nodeagent.runtime.spec import Bind

# As kubelet: ConfigMaps and Secrets are read again every minute, tokens replaced after 80% of their time.
_REREAD_SECONDS = 60.0
_TOKEN_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class VolumeFile:
    path: str
    content: bytes
    mode: int


Tokens = Mapping[TokenSource, str]


def volume_files(
    pod: Pod, volume: Volume, references: References, facts: Facts, tokens: Tokens
) -> list[VolumeFile] | None:
    """The files of a volume that we fill; None for one that isn't filled by us."""
    if volume.projected:
        files: list[VolumeFile] = []
        for part in volume.projected.sources or ():
            files += _part(pod, part, volume.projected.default_mode, references, facts, tokens)
        return files
    if volume.config_map or volume.secret or volume.downward_api:
        part = ProjectedPart(volume.config_map, volume.secret, volume.downward_api)
        return _part(pod, part, None, references, facts, tokens)
    return None


def _part(
    pod: Pod, part: ProjectedPart, mode: int | None, references: References, facts: Facts, tokens: Tokens
) -> list[VolumeFile]:
    """`mode` is a projected volume's own default; elsewhere each source has one."""
    files: list[VolumeFile] = []
    if source := part.config_map:
        files += _config_map_files(source, mode, references)
    if secret := part.secret:
        files += _secret_files(secret, mode, references)
    if downward := part.downward_api:
        files += _downward_files(pod, downward, mode, facts)
    if token := part.service_account_token:
        files.append(VolumeFile(_inside(token.path), tokens[token].encode(), mode or 0o644))
    return files


def _config_map_files(source: ConfigMapSource, mode: int | None, references: References) -> list[VolumeFile]:
    found = references.config_maps.get(source.name)
    if found is None and not source.optional:
        raise ConfigError(f'configmap "{source.name}" not found')
    texts = (found.data if found else None) or {}
    data = {key: value.encode() for key, value in texts.items()}
    data |= (found.binary_data if found else None) or {}
    return _keyed_files(data, source.items, source.optional, mode or source.default_mode, source.name)


def _secret_files(source: SecretSource, mode: int | None, references: References) -> list[VolumeFile]:
    name = source.secret_name or source.name
    found = references.secrets.get(name)
    if found is None and not source.optional:
        raise ConfigError(f'secret "{name}" not found')
    data = (found.data if found else None) or {}
    return _keyed_files(data, source.items, source.optional, mode or source.default_mode, name)


def _keyed_files(
    data: Mapping[str, bytes], items: Iterable[KeyToPath] | None, optional: bool, mode: int, name: str
) -> list[VolumeFile]:
    if items is None:
        return [VolumeFile(_inside(key), data[key], mode) for key in sorted(data)]
    files = []
    for item in items:
        if item.key in data:
            files.append(VolumeFile(_inside(item.path), data[item.key], item.mode or mode))
        elif not optional:
            raise ConfigError(f"references non-existent key: {item.key} in {name}")
    return files


def _downward_files(pod: Pod, source: DownwardSource, mode: int | None, facts: Facts) -> list[VolumeFile]:
    return [
        VolumeFile(
            _inside(item.path),
            field_value(pod, facts, item.field_ref.field_path).encode(),
            item.mode or mode or source.default_mode,
        )
        for item in source.items or ()
        if item.field_ref
    ]


def _inside(path: str) -> str:
    """A path that stays below its volume."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        raise ConfigError(f"the path {path!r} leads out of its volume")
    return str(PurePosixPath(*parts))


def token_sources(pod: Pod) -> list[TokenSource]:
    parts = [
        part
        for volume in pod.spec.volumes or ()
        if volume.projected
        for part in volume.projected.sources or ()
    ]
    return [part.service_account_token for part in parts if part.service_account_token]


def refresh_seconds(pod: Pod) -> float | None:
    """How long what we filled in stays good; None for ever. Tokens run out, ConfigMaps and Secrets change."""
    volumes = pod.spec.volumes or ()
    due = [_TOKEN_SHARE * token.expiration_seconds for token in token_sources(pod)]
    if any(volume.config_map or volume.secret for volume in volumes):
        due.append(_REREAD_SECONDS)
    return min(due, default=None)


def named_objects(pod: Pod) -> tuple[set[str], set[str]]:
    """The names of all ConfigMaps and of all Secrets that the Pod's volumes refer to."""
    config_maps: set[str] = set()
    secrets: set[str] = set()
    for volume in pod.spec.volumes or ():
        parts = [ProjectedPart(volume.config_map, volume.secret)]
        parts += (volume.projected.sources or []) if volume.projected else []
        config_maps |= {part.config_map.name for part in parts if part.config_map}
        secrets |= {part.secret.secret_name or part.secret.name for part in parts if part.secret}
    return config_maps, secrets


# ---- where containers see them -----------------------------------------------------------------------------


def volume_path(pod_folder: Path, volume: Volume) -> Path:
    if volume.host_path:
        return Path(volume.host_path.path)
    return pod_folder / "volumes" / volume.name


def container_binds(
    pod: Pod, container: Container, pod_folder: Path, run_folder: Path, env: Mapping[str, str]
) -> tuple[Bind, ...]:
    """The container's volumes, and the Pod's own files where no volume takes their place."""
    volumes = {volume.name: volume for volume in pod.spec.volumes or ()}
    binds: dict[str, Bind] = {}
    for name in ("hosts", "resolv.conf"):
        binds[f"/etc/{name}"] = Bind(str(pod_folder / "etc" / name), f"/etc/{name}")
    if not pod.spec.host_network:
        binds["/etc/hostname"] = Bind(str(pod_folder / "etc" / "hostname"), "/etc/hostname")
    if container.termination_message_path:
        target = container.termination_message_path
        binds[target] = Bind(str(run_folder / "termination-message"), target)
    for mount in container.volume_mounts or ():
        if mount.name not in volumes:
            raise ConfigError(f'volume "{mount.name}" is not defined')
        source = volume_path(pod_folder, volumes[mount.name])
        below = expand(mount.sub_path_expr, env) or mount.sub_path
        source = source / _inside(below) if below else source
        read_only = mount.read_only or _filled_by_us(volumes[mount.name])
        binds[mount.mount_path] = Bind(str(source), mount.mount_path, read_only)
    return tuple(binds.values())


def _filled_by_us(volume: Volume) -> bool:
    """Those are read-only for containers whatever their mounts say."""
    return bool(volume.config_map or volume.secret or volume.downward_api or volume.projected)
