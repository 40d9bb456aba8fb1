"""The annotations of cloud load balancers, read into what they ask of each port. Pure.

They mean what they mean to AWS' classic load balancers, which they were made for. Every value is checked here
and only numbers, flags and names of Secrets go on: no text of a user ever comes near HAProxy's configuration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairway.lb.objects import Service

PREFIX = "service.beta.kubernetes.io/aws-load-balancer-"
PROTOCOLS = ("tcp", "ssl", "http", "https")
_SECRET_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class AnnotationError(ValueError):
    """An annotation has a value that can't be honoured; the message says which and what would do."""


@dataclass(frozen=True, slots=True)
class PortWish:
    """How one port is to be balanced: TLS from clients, requests or mere bytes, TLS to the Pods."""

    port: int
    name: str
    terminate: bool = False
    http: bool = False
    encrypt: bool = False


@dataclass(frozen=True, slots=True)
class Wishes:
    ports: tuple[PortWish, ...]
    certificate: str = ""
    proxy_protocol: bool = False
    idle_seconds: int = 60


def is_internal(service: Service) -> bool:
    """The oldest form of the annotation was a range, and any range meant yes."""
    return _value(service, "internal").lower() not in ("", "false")


def wishes(service: Service) -> Wishes | None:
    """None where nothing asks for a balancer: then nodes pass packets on, which is faster."""
    certificate, protocol = _value(service, "ssl-cert"), _protocol(service)
    proxy_protocol = _proxy_protocol(service)
    if not certificate and not protocol and not proxy_protocol:
        return None
    for port in service.spec.ports:
        if port.protocol != "TCP":
            raise AnnotationError(
                f"port {port.port} is {port.protocol}, and the annotations {PREFIX}* are for TCP only;"
                " put it into a Service of its own"
            )
    encrypted = _ssl_ports(service)
    ports = []
    for port in service.spec.ports:
        terminate = bool(certificate) and (encrypted is None or bool({str(port.port), port.name} & encrypted))
        http = protocol == "http" or (protocol == "https" and terminate)
        encrypt = terminate and protocol in ("https", "ssl")
        ports.append(PortWish(port.port, port.name, terminate, http, encrypt))
    return Wishes(tuple(ports), certificate, proxy_protocol, _idle_seconds(service))


def certificate_secret(name: str, namespace: str, table: dict[str, str]) -> str:
    """`namespace/name` of the Secret that a certificate's name stands for; empty if it can stand for none.

    The operator's table comes first and may lead anywhere. Without an entry in it, the last part of the name
    (`arn:aws:acm:…:certificate/NAME`, or just `NAME`) is a Secret in the Service's own namespace.
    """
    if known := table.get(name):
        place, _, secret = known.rpartition("/")
        return f"{place or namespace}/{secret}"
    secret = name.rsplit("/", 1)[-1] if name.startswith("arn:") else name
    return f"{namespace}/{secret}" if _SECRET_NAME.fullmatch(secret) else ""


def _value(service: Service, name: str) -> str:
    return service.metadata.annotation(PREFIX + name).strip()


def _protocol(service: Service) -> str:
    value = _value(service, "backend-protocol").lower()
    if value and value not in PROTOCOLS:
        raise AnnotationError(
            f"{PREFIX}backend-protocol is {value[:40]!r}; it must be one of {', '.join(PROTOCOLS)}"
        )
    return value


def _proxy_protocol(service: Service) -> bool:
    value = _value(service, "proxy-protocol")
    if value not in ("", "*"):
        raise AnnotationError(f"{PREFIX}proxy-protocol is {value[:40]!r}; only '*' (all ports) is possible")
    return value == "*"


def _ssl_ports(service: Service) -> set[str] | None:
    """Numbers and names of ports; None for all of them."""
    value = _value(service, "ssl-ports")
    return None if value in ("", "*") else {word.strip() for word in value.split(",")}


def _idle_seconds(service: Service) -> int:
    value = _value(service, "connection-idle-timeout")
    if not value:
        return 60
    if not (value.isascii() and value.isdecimal() and 1 <= int(value[:6]) <= 4000):
        raise AnnotationError(
            f"{PREFIX}connection-idle-timeout is {value[:40]!r}; it must be 1 to 4000 seconds"
        )
    return int(value)
