"""The environment of a container: Services, envFrom, env, in the order and with the precedence of Kubernetes.

Pure: everything that must be fetched (Services, ConfigMaps, Secrets) is passed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fairway.api.objects import Service
from fairway.nodeagent.objects import ConfigMap, Container, EnvFrom, EnvSource, KeySelector, Pod, Secret
from fairway.nodeagent.pods.downward import ConfigError, Facts, field_value, resource_value
from fairway.nodeagent.pods.expansion import expand

API_SERVICE = ("default", "kubernetes")


@dataclass(frozen=True, slots=True)
class References:
    """The objects a Pod names, by name, as far as they exist."""

    config_maps: Mapping[str, ConfigMap] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)


# ---- Services --------------------------------------------------------------------------------------------


def service_environment(services: Iterable[Service], namespace: str, links: bool = True) -> dict[str, str]:
    """Variables for the Services of a namespace; those of the API's own Service are always there."""
    visible: dict[str, Service] = {}
    for service in services:
        identity = (service.metadata.namespace, service.metadata.name)
        if service.spec.cluster_ip in ("", "None"):
            continue
        if links and identity[0] == namespace:
            visible[identity[1]] = service
        elif identity == API_SERVICE:
            visible.setdefault(identity[1], service)
    variables: dict[str, str] = {}
    for name in sorted(visible):
        variables |= _variables(visible[name])
    return variables


def _variables(service: Service) -> dict[str, str]:
    if not service.spec.ports:
        return {}
    prefix, address = _variable_name(service.metadata.name), service.spec.cluster_ip
    variables = {
        f"{prefix}_SERVICE_HOST": address,
        f"{prefix}_SERVICE_PORT": str(service.spec.ports[0].port),
    }
    for port in service.spec.ports:
        if port.name:
            variables[f"{prefix}_SERVICE_PORT_{_variable_name(port.name)}"] = str(port.port)
    return variables | _link_variables(service, prefix, address)


def _link_variables(service: Service, prefix: str, address: str) -> dict[str, str]:
    """What `docker run --link` once set."""
    host = f"[{address}]" if ":" in address else address
    variables: dict[str, str] = {}
    for port in service.spec.ports:
        protocol = port.protocol or "TCP"
        url = f"{protocol.lower()}://{host}:{port.port}"
        variables.setdefault(f"{prefix}_PORT", url)
        link = f"{prefix}_PORT_{port.port}_{protocol.upper()}"
        variables |= {
            link: url,
            f"{link}_PROTO": protocol.lower(),
            f"{link}_PORT": str(port.port),
            f"{link}_ADDR": address,
        }
    return variables


def _variable_name(name: str) -> str:
    return name.upper().replace("-", "_")


# ---- the container's own ---------------------------------------------------------------------------------


def container_environment(
    pod: Pod, container: Container, facts: Facts, references: References, services: Mapping[str, str]
) -> dict[str, str]:
    """All variables but the image's own. `env` beats `envFrom`, which beats those of Services."""
    variables: dict[str, str] = {}
    for source in container.env_from or ():
        variables |= _from_object(source, references, pod.metadata.namespace)
    for entry in container.env or ():
        if entry.value_from is None:
            variables[entry.name] = expand(entry.value, {**services, **variables})
        elif (value := _from_source(pod, container, facts, references, entry.value_from)) is not None:
            variables[entry.name] = value
    return {**services, **variables}


def _from_object(source: EnvFrom, references: References, namespace: str) -> dict[str, str]:
    values: dict[str, str] = {}
    if wanted := source.config_map_ref:
        config_map = references.config_maps.get(wanted.name)
        _demand(config_map is not None or wanted.optional, f'configmap "{wanted.name}" not found')
        values |= (config_map.data if config_map else None) or {}
    if wanted := source.secret_ref:
        secret = references.secrets.get(wanted.name)
        _demand(secret is not None or wanted.optional, f'secret "{wanted.name}" not found')
        values |= _texts(secret)
    return {source.prefix + key: value for key, value in values.items()}


def _from_source(
    pod: Pod, container: Container, facts: Facts, references: References, source: EnvSource
) -> str | None:
    if source.field_ref:
        return field_value(pod, facts, source.field_ref.field_path)
    if source.resource_field_ref:
        return resource_value(pod, container, facts, source.resource_field_ref)
    namespace = pod.metadata.namespace
    if wanted := source.config_map_key_ref:
        config_map = references.config_maps.get(wanted.name)
        data = (config_map.data or {}) if config_map else None
        return _keyed("ConfigMap", wanted, data, namespace)
    if wanted := source.secret_key_ref:
        secret = references.secrets.get(wanted.name)
        return _keyed("Secret", wanted, _texts(secret) if secret else None, namespace)
    return ""


def _keyed(kind: str, wanted: KeySelector, data: Mapping[str, str] | None, namespace: str) -> str | None:
    """The value; None for something optional that is missing, which leaves the variable unset."""
    if data is not None and wanted.key in data:
        return data[wanted.key]
    _demand(wanted.optional or data is not None, f'{kind.lower()} "{wanted.name}" not found')
    _demand(wanted.optional, f"couldn't find key {wanted.key} in {kind} {namespace}/{wanted.name}")
    return None


def _texts(secret: Secret | None) -> dict[str, str]:
    data = (secret.data if secret else None) or {}
    return {key: value.decode("utf-8", "replace") for key, value in data.items()}


def _demand(satisfied: bool, message: str) -> None:
    if not satisfied:
        raise ConfigError(message)


def named_objects(pod: Pod) -> tuple[set[str], set[str]]:
    """The names of all ConfigMaps and of all Secrets that the Pod's environment refers to."""
    config_maps: set[str] = set()
    secrets: set[str] = set()
    for container in (*(pod.spec.init_containers or ()), *pod.spec.containers):
        sources = [entry.value_from for entry in container.env or () if entry.value_from]
        config_maps |= {s.config_map_key_ref.name for s in sources if s.config_map_key_ref}
        secrets |= {s.secret_key_ref.name for s in sources if s.secret_key_ref}
        config_maps |= {e.config_map_ref.name for e in container.env_from or () if e.config_map_ref}
        secrets |= {e.secret_ref.name for e in container.env_from or () if e.secret_ref}
    return config_maps, secrets
