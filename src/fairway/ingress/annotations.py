"""The annotations of ingress-nginx that we understand, each read into a typed and checked option.

Values end up as data in Lua, never as nginx configuration. What is wrong, unknown or not supported becomes a
problem that is told to the Ingress's owner; the rest of the Ingress goes on working.
"""

from __future__ import annotations

import ipaddress
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

PREFIX = "nginx.ingress.kubernetes.io/"


class Cors(msgspec.Struct, frozen=True, omit_defaults=True):
    origins: tuple[str, ...] = ("*",)
    methods: str = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
    headers: str = (
        "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,"
        "Authorization"
    )
    exposed: str = ""
    credentials: bool = True
    max_age: int = 1728000


class Cookie(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cookie that ties a client to an endpoint."""

    name: str = "INGRESSCOOKIE"
    path: str = "/"
    max_age: int = 0
    same_site: str = ""
    secure: bool = False


class Canary(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which requests go to the other backend. Header before cookie before weight."""

    weight: int = 0
    weight_total: int = 100
    header: str = ""
    header_value: str = ""
    header_pattern: str = ""
    cookie: str = ""


class Options(msgspec.Struct, frozen=True, omit_defaults=True):
    """What annotations say about the routes of one Ingress, in seconds and bytes."""

    rewrite_target: str = ""
    use_regex: bool = False
    app_root: str = ""
    ssl_redirect: bool = True
    force_ssl_redirect: bool = False
    redirect: str = ""
    redirect_code: int = 301
    protocol: str = "HTTP"
    connect_seconds: int = 5
    send_seconds: int = 60
    read_seconds: int = 60
    body_bytes: int = 1 << 20
    tries: int = 3
    balance: str = "round_robin"
    hash_by: str = ""
    cookie: Cookie | None = None
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    rate: float = 0.0
    burst: int = 0
    cors: Cors | None = None
    canary: Canary | None = None
    auth_secret: str = ""
    auth_realm: str = ""
    custom_headers: str = ""
    upstream_host: str = ""


class Read(msgspec.Struct, frozen=True):
    options: Options
    problems: tuple[str, ...]


class Bad(ValueError):
    """A value that an annotation can't have; the text says what it could be."""


def read(annotations: Mapping[str, str] | None) -> Read:
    reader = _Reader(annotations or {})
    options = reader.options()
    return Read(options, tuple(reader.problems))


# -- values ----------------------------------------------------------------------------------------------


def _boolean(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise Bad('must be "true" or "false"')
    return text.strip().lower() == "true"


def _integer(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = re.fullmatch(r"\s*(\d{1,12})s?\s*", text, re.ASCII)
        if not number or not least <= int(number[1]) <= most:
            raise Bad(f"must be a number from {least} to {most}")
        return int(number[1])

    return parse


def _size(text: str) -> int:
    found = re.fullmatch(r"\s*(\d{1,9})([kKmMgG]?)\s*", text, re.ASCII)
    if not found:
        raise Bad('must be a size such as "8m", or "0" for no limit')
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2].lower()]


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        for word in words:
            if text.strip().lower() == word.lower():
                return word
        raise Bad(f"must be one of {', '.join(words)}")

    return parse


_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"


def _matching(pattern: str, what: str) -> Callable[[str], str]:
    compiled = re.compile(pattern, re.ASCII)

    def parse(text: str) -> str:
        if len(text) > 1024 or not compiled.fullmatch(text.strip()):
            raise Bad(f"must be {what}")
        return text.strip()

    return parse


_token = _matching(_TOKEN, "a token of HTTP: letters, digits and -_. and the like")
_tokens = _matching(rf"{_TOKEN}(\s*,\s*{_TOKEN})*|\*", "tokens of HTTP, with commas")
_path = _matching(r"/[^\s\"'\\{};]*", "an absolute path without spaces, quotes or braces")
_target = _matching(r"/?[^\s\"'\\{};]*", "a path, which may have $1, $2… in it, without spaces or quotes")
_location = _matching(r"(https?://|/)[^\s\"'\\{};<>]+", "an absolute URL or path, without spaces or quotes")
_text = _matching(r"[^\x00-\x1f\x7f\"\\]*", "text without quotes and control characters")
_host = _matching(r"[A-Za-z0-9._:-]*", "a host name")
_name = _matching(r"([a-z0-9.-]+/)?[a-z0-9.-]+", "the name of an object, or namespace/name")
_origin = re.compile(r"(https?://)?(\*\.)?[A-Za-z0-9.-]+(:\d+)?|\*|null", re.ASCII)


def _origins(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if not words or not all(_origin.fullmatch(word) for word in words):
        raise Bad("must be origins such as https://example.com, with commas, or *")
    return words


def _ranges(text: str) -> tuple[str, ...]:
    try:
        return tuple(str(ipaddress.ip_network(word.strip())) for word in text.split(",") if word.strip())
    except ValueError as error:
        raise Bad(f"must be addresses or ranges with commas: {error}") from error


def _hash_key(text: str) -> str:
    known = {"$remote_addr": "ip", "$binary_remote_addr": "ip", "$request_uri": "uri", "$host": "host"}
    if text.strip() in known:
        return known[text.strip()]
    found = re.fullmatch(r"\$(http|cookie|arg)_([a-z0-9_]+)", text.strip(), re.ASCII)
    if not found:
        raise Bad("must be one of $remote_addr, $request_uri, $host, $http_NAME, $cookie_NAME, $arg_NAME")
    return f"{found[1]}:{found[2]}"


def _pattern(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise Bad(f"must be a regular expression: {error}") from error
    if len(text) > 256:
        raise Bad("must have at most 256 characters")
    return text


# -- annotations -----------------------------------------------------------------------------------------

# What each of these annotations sets, and how its value is read.
_PLAIN: dict[str, tuple[str, Callable[[str], Any]]] = {
    "rewrite-target": ("rewrite_target", _target),
    "use-regex": ("use_regex", _boolean),
    "app-root": ("app_root", _path),
    "ssl-redirect": ("ssl_redirect", _boolean),
    "force-ssl-redirect": ("force_ssl_redirect", _boolean),
    "backend-protocol": ("protocol", _one_of("HTTP", "HTTPS", "GRPC", "GRPCS", "AUTO_HTTP")),
    "proxy-connect-timeout": ("connect_seconds", _integer(1, 3600)),
    "proxy-send-timeout": ("send_seconds", _integer(1, 86400)),
    "proxy-read-timeout": ("read_seconds", _integer(1, 86400)),
    "proxy-body-size": ("body_bytes", _size),
    "proxy-next-upstream-tries": ("tries", _integer(0, 100)),
    "load-balance": ("balance", _one_of("round_robin", "least_conn", "ewma", "ip_hash")),
    "upstream-hash-by": ("hash_by", _hash_key),
    "whitelist-source-range": ("allowed", _ranges),
    "allowlist-source-range": ("allowed", _ranges),
    "denylist-source-range": ("denied", _ranges),
    "custom-headers": ("custom_headers", _name),
    "upstream-vhost": ("upstream_host", _host),
}
# Read together with others, below.
_GROUPED: dict[str, Callable[[str], Any]] = {
    "permanent-redirect": _location,
    "permanent-redirect-code": _integer(300, 308),
    "temporal-redirect": _location,
    "temporal-redirect-code": _integer(300, 308),
    "affinity": _one_of("cookie"),
    "affinity-mode": _one_of("balanced", "persistent"),
    "session-cookie-name": _token,
    "session-cookie-path": _path,
    "session-cookie-max-age": _integer(0, 10**9),
    "session-cookie-expires": _integer(0, 10**9),
    "session-cookie-samesite": _one_of("None", "Lax", "Strict"),
    "session-cookie-secure": _boolean,
    "session-cookie-change-on-failure": _boolean,
    "limit-rps": _integer(1, 10**6),
    "limit-rpm": _integer(1, 10**8),
    "limit-burst-multiplier": _integer(1, 1000),
    "enable-cors": _boolean,
    "cors-allow-origin": _origins,
    "cors-allow-methods": _tokens,
    "cors-allow-headers": _tokens,
    "cors-expose-headers": _tokens,
    "cors-allow-credentials": _boolean,
    "cors-max-age": _integer(0, 10**9),
    "canary": _boolean,
    "canary-weight": _integer(0, 10**6),
    "canary-weight-total": _integer(1, 10**6),
    "canary-by-header": _token,
    "canary-by-header-value": _text,
    "canary-by-header-pattern": _pattern,
    "canary-by-cookie": _token,
    "auth-type": _one_of("basic"),
    "auth-secret": _name,
    "auth-secret-type": _one_of("auth-file", "auth-map"),
    "auth-realm": _text,
}
SUPPORTED = (*_PLAIN, *_GROUPED)


class _Reader:
    def __init__(self, annotations: Mapping[str, str]) -> None:
        self.problems: list[str] = []
        ours = {name: text for name, text in annotations.items() if name.startswith(PREFIX)}
        self._values = dict(self._parsed(ours))

    def _parsed(self, ours: Mapping[str, str]) -> Iterable[tuple[str, Any]]:
        for full, text in sorted(ours.items()):
            name = full.removeprefix(PREFIX)
            parse = _PLAIN[name][1] if name in _PLAIN else _GROUPED.get(name)
            if parse is None:
                reason = "snippets are never run" if name.endswith("snippet") else "it is not supported"
                self.problems.append(f"annotation {PREFIX}{name} is ignored: {reason}")
                continue
            try:
                yield name, parse(text)
            except Bad as bad:
                self.problems.append(f"annotation {PREFIX}{name} is ignored: {bad}")

    def options(self) -> Options:
        values = self._values
        plain = {_PLAIN[name][0]: value for name, value in values.items() if name in _PLAIN}
        if plain.get("balance") == "ip_hash":
            plain |= {"balance": "round_robin", "hash_by": "ip"}
        if plain.get("protocol") == "AUTO_HTTP":
            plain["protocol"] = "HTTP"
        return Options(
            **plain,
            **self._redirect(),
            **self._rate(),
            **self._auth(),
            cookie=self._cookie() if values.get("affinity") else None,
            cors=self._cors() if values.get("enable-cors") else None,
            canary=self._canary() if values.get("canary") else None,
        )

    def _redirect(self) -> dict[str, Any]:
        values = self._values
        if "temporal-redirect" in values:
            return {
                "redirect": values["temporal-redirect"],
                "redirect_code": values.get("temporal-redirect-code", 302),
            }
        if "permanent-redirect" in values:
            return {
                "redirect": values["permanent-redirect"],
                "redirect_code": values.get("permanent-redirect-code", 301),
            }
        return {}

    def _rate(self) -> dict[str, Any]:
        values = self._values
        rate = values["limit-rps"] if "limit-rps" in values else values.get("limit-rpm", 0) / 60
        burst = int(max(rate, 1) * values.get("limit-burst-multiplier", 5))
        return {"rate": float(rate), "burst": burst} if rate else {}

    def _auth(self) -> dict[str, Any]:
        values = self._values
        if "auth-type" not in values:
            return {}
        if "auth-secret" not in values:
            # Better closed than open: nobody can pass.
            self.problems.append(f"annotation {PREFIX}auth-type needs {PREFIX}auth-secret, too")
        return {"auth_secret": values.get("auth-secret", "-"), "auth_realm": values.get("auth-realm", "")}

    def _cookie(self) -> Cookie:
        values = self._values
        return Cookie(
            name=values.get("session-cookie-name", "INGRESSCOOKIE"),
            path=values.get("session-cookie-path", "/"),
            max_age=values.get("session-cookie-max-age", values.get("session-cookie-expires", 0)),
            same_site=values.get("session-cookie-samesite", ""),
            secure=values.get("session-cookie-secure", False),
        )

    def _cors(self) -> Cors:
        values, default = self._values, Cors()
        return Cors(
            origins=values.get("cors-allow-origin", default.origins),
            methods=values.get("cors-allow-methods", default.methods),
            headers=values.get("cors-allow-headers", default.headers),
            exposed=values.get("cors-expose-headers", ""),
            credentials=values.get("cors-allow-credentials", True),
            max_age=values.get("cors-max-age", default.max_age),
        )

    def _canary(self) -> Canary:
        values = self._values
        return Canary(
            weight=values.get("canary-weight", 0),
            weight_total=values.get("canary-weight-total", 100),
            header=values.get("canary-by-header", ""),
            header_value=values.get("canary-by-header-value", ""),
            header_pattern=values.get("canary-by-header-pattern", ""),
            cookie=values.get("canary-by-cookie", ""),
        )
