"""nginx's configuration. Pure, and made from the command line only: nothing of any Ingress is ever in it.

Routes, endpoints and certificates are data that Lua holds (see lua/), so this file never changes while nginx
runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


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

    @property
    def socket(self) -> Path:
        return self.folder / "control.sock"

    @property
    def lua(self) -> Path:
        return self.folder / "lua"


_MODULES = ("ndk_http_module.so", "ngx_http_lua_module.so")
_LOG = (
    '{"time":"$time_iso8601","client":"$remote_addr","method":"$request_method","host":"$host",'
    '"uri":"$request_uri","protocol":"$server_protocol","status":$status,"bytes":$bytes_sent,'
    '"seconds":$request_time,"ingress":"$fairway_ingress","backend":"$fairway_backend",'
    '"endpoint":"$upstream_addr","endpoint_status":"$upstream_status",'
    '"endpoint_seconds":"$upstream_response_time","agent":"$http_user_agent","request":"$fairway_request"}'
)


_HEADERS = {
    "Host": "$fairway_host",
    "X-Request-ID": "$fairway_request",
    "X-Real-IP": "$remote_addr",
    "X-Forwarded-For": "$remote_addr",
    "X-Forwarded-Host": "$http_host",
    "X-Forwarded-Port": "$server_port",
    "X-Forwarded-Proto": "$scheme",
    "X-Forwarded-Scheme": "$scheme",
    "X-Scheme": "$scheme",
    "X-Original-Forwarded-For": "$http_x_forwarded_for",
    "Proxy": '""',
}
_UPGRADE = {"Upgrade": "$http_upgrade", "Connection": "$fairway_connection"}


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
        _sending("proxy", _HEADERS | _UPGRADE),
        _sending("grpc", _HEADERS),
        _VARIABLES.format(folder=folder),
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
        fairway = {{}}
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


def _sending(kind: str, headers: Mapping[str, str]) -> str:
    lines = [f"{kind}_set_header {name} {value};" for name, value in headers.items()]
    # Lua changes these only for routes that ask for other ones.
    lines += [f"{kind}_connect_timeout 5s;", f"{kind}_send_timeout 60s;", f"{kind}_read_timeout 60s;"]
    # What is safe to repeat is tried with the next endpoint; how often, and for how long, Lua says.
    lines += [f"{kind}_next_upstream error timeout;", f"{kind}_next_upstream_tries 0;"]
    return "".join(f"\n    {line}" for line in lines)


# Variables of a map cost nothing until they are read, and Lua can still set them.
_VARIABLES = """
    map $http_upgrade $fairway_connection {{ default upgrade; "" ""; }}
    map $http_x_request_id $fairway_request {{
        default $http_x_request_id;
        "" "$connection-$connection_requests-$msec";
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
    return f"""
    server {{
{_listening(settings, secure)}
        server_name _;
{_certificate(settings.folder) if secure else ""}
        log_by_lua_block {{ fairway.counts.log() }}
        error_page 418 = @long;

        location = /.fairway/healthz {{ access_log off; return 200 "ok\\n"; }}

        location / {{
            set_by_lua_block $fairway_backend {{ return fairway.router.plain({str(secure).lower()}) }}
            if ($fairway_backend = "") {{ return 418; }}
{_ANSWERS if secure else ""}
            proxy_pass http://endpoints;
        }}
{_long("@long", "route", "proxy_pass http://endpoints")}
{_long("@https", "again", "proxy_pass https://endpoints")}
{_long("@grpc", "again", "grpc_pass $fairway_scheme://endpoints")}
    }}"""


_ANSWERS = "            header_filter_by_lua_block { fairway.answers.headers() }"


def _long(name: str, function: str, sending: str) -> str:
    return f"""
        location {name} {{
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
