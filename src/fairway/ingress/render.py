"""nginx's configuration. Pure, and made from the command line only: nothing of any Ingress is ever in it.

Routes, endpoints and certificates are data that Lua holds (see lua/), so this file never changes while nginx
runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairway.ingress.annotations import Options


@dataclass(frozen=True, slots=True)
class Settings:
    folder: Path
    bind: tuple[str, ...]
    http_port: int
    https_port: int
    workers: int
    user: str = ""
    open_files: int = 1024
    modules: Path = Path("/usr/lib/nginx/modules")
    start: str = ""
    """Tells one start of nginx from another: connections are counted from one again."""

    @property
    def socket(self) -> Path:
        return self.folder / "control.sock"

    @property
    def lua(self) -> Path:
        return self.folder / "lua"


# Answered whatever routes there are.
_HEALTH = "/.fairway/healthz"
_MODULES = ("ndk_http_module.so", "ngx_http_lua_module.so")
_LOG = (
    '{"time":"$time_iso8601","client":"$remote_addr","method":"$request_method","host":"$host",'
    '"uri":"$request_uri","protocol":"$server_protocol","status":$status,"bytes":$bytes_sent,'
    '"seconds":$request_time,"ingress":"$fairway_ingress","backend":"$fairway_backend",'
    '"endpoint":"$upstream_addr","endpoint_status":"$upstream_status",'
    '"endpoint_seconds":"$upstream_response_time","agent":"$http_user_agent","request":"$fairway_request"}'
)


# nginx takes no variable for this, so bodies of unknown length have the next of these for a limit.
_BODY_LIMITS = tuple(1 << bits for bits in range(10, 37))
_HOST = {"Host": "$fairway_host"}
_UPGRADE = {"Upgrade": "$http_upgrade", "Connection": "$fairway_connection"}


def _headers(scheme: str, port: int) -> dict[str, str]:
    """For servers, of every request. Constants cost nothing where variables do."""
    return {
        "X-Request-ID": "$fairway_request",
        "X-Real-IP": "$remote_addr",
        "X-Forwarded-For": "$remote_addr",
        "X-Forwarded-Host": "$http_host",
        "X-Forwarded-Port": str(port),
        "X-Forwarded-Proto": scheme,
        "X-Forwarded-Scheme": scheme,
        "X-Scheme": scheme,
        "X-Original-Forwarded-For": "$http_x_forwarded_for",
        "Proxy": '""',
    }


def render(settings: Settings) -> str:
    folder = settings.folder
    lines = [
        f"user {settings.user};" if settings.user else "",
        *(f"load_module {settings.modules / name};" for name in _MODULES),
        f"worker_processes {settings.workers or 'auto'};",
        f"worker_rlimit_nofile {settings.open_files};",
        "daemon off;",
        f"pid {folder}/nginx.pid;",
        "error_log stderr warn;",
        f"events {{ worker_connections {settings.open_files // 2}; multi_accept on; }}",
        "http {",
        _lua(settings),
        _general(folder),
        _trying("proxy"),
        _trying("grpc"),
        _VARIABLES.format(folder=folder, start=settings.start),
        _ENDPOINTS,
        _server(settings, secure=False),
        _server(settings, secure=True),
        _control(settings.socket),
        "}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _lua(settings: Settings) -> str:
    return f"""
    lua_package_path "{settings.lua}/?.lua;/usr/share/lua/5.1/?.lua;;";
    lua_shared_dict fairway 128m;
    lua_shared_dict fairway_counts 16m;
    lua_shared_dict fairway_rates 16m;
    lua_regex_match_limit 100000;
    lua_regex_cache_max_entries 4096;
    lua_malloc_trim 100000;
    init_by_lua_block {{
        require("fairway.state").load("{settings.folder}/state")
        fairway = {{ health = "{_HEALTH}", largest_body_limit = {_BODY_LIMITS[-1]} }}
        for _, name in ipairs({{ "router", "balancer", "answers", "counts", "certificates", "control" }}) do
            fairway[name] = require("fairway." .. name)
        end
    }}
    init_worker_by_lua_block {{
        math.randomseed(ngx.worker.pid() + ngx.now() * 1000)
        fairway.counts.start()
    }}"""


def _general(folder: Path) -> str:
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"    {kind}_temp_path {folder}/temporary/{kind};" for kind in kinds)
    return f"""
    log_format json escape=json '{_LOG}';
    access_log {folder}/access.log json buffer=64k flush=1s;
{temporary}

    server_tokens off;
    request_pool_size 12k;
    types {{ }}
    default_type application/octet-stream;
    keepalive_timeout 75s;
    keepalive_requests 100000;
    client_max_body_size 0;
    client_header_buffer_size 4k;
    large_client_header_buffers 8 32k;
    underscores_in_headers on;
    variables_hash_max_size 2048;
    tcp_nodelay on;
    reset_timedout_connection on;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:tls:10m;
    ssl_session_tickets off;

    proxy_http_version 1.1;
    proxy_buffer_size 16k;
    proxy_buffers 8 16k;
    proxy_redirect off;
    proxy_ssl_server_name on;
    proxy_ssl_name $host;"""


def _trying(kind: str) -> str:
    # Lua changes these only for routes that ask for other ones.
    lines = [f"{kind}_connect_timeout 5s;", f"{kind}_send_timeout 60s;", f"{kind}_read_timeout 60s;"]
    # What is safe to repeat is tried with the next endpoint; how often, and for how long, Lua says.
    lines += [f"{kind}_next_upstream error timeout;", f"{kind}_next_upstream_tries 0;"]
    return "".join(f"\n    {line}" for line in lines)


def _sending(kind: str, headers: Mapping[str, str]) -> str:
    return "\n".join(f"            {kind}_set_header {name} {value};" for name, value in headers.items())


# Variables of a map cost nothing until they are read, and Lua can still set them.
_VARIABLES = """
    map $http_upgrade $fairway_connection {{ default upgrade; "" ""; }}
    map $http_x_request_id $fairway_request {{
        default $http_x_request_id;
        "" "$connection-$connection_requests-{start}";
    }}
    map "" $fairway_ingress {{ default ""; }}
    map "" $fairway_backend {{ default ""; }}
    map "" $fairway_scheme {{ default http; }}
    map "" $fairway_host {{ default $http_host; }}
    map "" $fairway_realm {{ default off; }}
    map "" $fairway_passwords {{ default {folder}/passwords/none; }}"""

_ENDPOINTS = """
    upstream endpoints {
        server 0.0.0.1;
        balancer_by_lua_block { fairway.balancer.choose() }
        keepalive 320;
        keepalive_requests 100000;
        keepalive_timeout 60s;
    }"""


def _server(settings: Settings, secure: bool) -> str:
    """A request goes the short way unless Lua says that it needs more: every phase of Lua costs time."""
    headers = _headers(*(("https", settings.https_port) if secure else ("http", settings.http_port)))
    short = {"Host": "$http_host", **headers, "Upgrade": '""', "Connection": '""'}
    return f"""
    server {{
{_listening(settings, secure)}
        server_name _;
{_certificate(settings.folder) if secure else ""}
        log_by_lua_block {{ fairway.counts.log() }}
        error_page 418 = @long;
        if ($http_upgrade) {{ return 418; }}
        set_by_lua_block $fairway_backend {{ return fairway.router.plain({str(secure).lower()}) }}
        if ($fairway_backend = "") {{ return 418; }}

        location = {_HEALTH} {{ access_log off; return 200 "ok\\n"; }}

        location / {{
            client_max_body_size {Options().body_bytes};
{_sending("proxy", short)}
{_ANSWERS if secure else ""}
            proxy_pass http://endpoints;
        }}
{_long_ways(headers)}
    }}"""


_ANSWERS = "            header_filter_by_lua_block { fairway.answers.headers() }"


def _long_ways(headers: dict[str, str]) -> str:
    """`@proxy` and `@grpc` are for what `@long` can't do; `@proxy-1024` and the like also limit bodies."""
    proxy = _sending("proxy", _HOST | headers | _UPGRADE) + "\n            proxy_pass "
    grpc = _sending("grpc", _HOST | headers) + "\n            grpc_pass "
    ways = [_way("@long", "route", proxy + "http://endpoints")]
    for name, sending in (("@proxy", proxy), ("@grpc", grpc)):
        ways.append(_way(name, "again", sending + "$fairway_scheme://endpoints"))
        ways += [
            _way(f"{name}-{most}", "again", f"{sending}$fairway_scheme://endpoints", most)
            for most in _BODY_LIMITS
        ]
    return "".join(ways)


def _way(name: str, function: str, sending: str, body_limit: int = 0) -> str:
    return f"""
        location {name} {{
            client_max_body_size {body_limit};
            rewrite_by_lua_block {{ fairway.router.{function}() }}
            auth_basic $fairway_realm;
            auth_basic_user_file $fairway_passwords;
{_ANSWERS}
{sending};
        }}"""


def _listening(settings: Settings, secure: bool) -> str:
    port, how = (settings.https_port, " ssl http2") if secure else (settings.http_port, "")
    lines = []
    for address in settings.bind:
        only = " ipv6only=on" if address.startswith("[") else ""
        lines.append(f"        listen {address}:{port}{how} default_server{only} backlog=4096;")
    return "\n".join(lines)


def _certificate(folder: Path) -> str:
    return f"""
        ssl_certificate {folder}/default.crt;
        ssl_certificate_key {folder}/default.key;
        ssl_certificate_by_lua_block {{ fairway.certificates.choose() }}"""


def _control(socket: Path) -> str:
    return f"""
    server {{
        listen unix:{socket};
        access_log off;
        client_body_buffer_size 8m;
        location / {{ content_by_lua_block {{ fairway.control.serve() }} }}
    }}"""
