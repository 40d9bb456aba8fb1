"""nginx's configuration. Pure, and made from the command line only: nothing of any Ingress is ever in it.

Routes, endpoints and certificates are data that Lua holds (see lua/), so this file never changes while nginx
runs.
"""

from __future__ import annotations

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
        _http(settings),
        "}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _http(settings: Settings) -> str:
    folder, lua = settings.folder, settings.lua
    temporary = "\n".join(
        f"    {kind}_temp_path {folder}/temporary/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""
    lua_package_path "{lua}/?.lua;/usr/share/lua/5.1/?.lua;;";
    lua_shared_dict fairway 128m;
    lua_shared_dict fairway_counts 16m;
    lua_shared_dict fairway_rates 16m;
    lua_regex_match_limit 100000;
    lua_regex_cache_max_entries 4096;
    init_by_lua_block {{ require("fairway.state").load("{folder}/state") }}
    init_worker_by_lua_block {{
        math.randomseed(ngx.worker.pid() + ngx.now() * 1000)
        require("fairway.counts").start()
    }}

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

    map $http_upgrade $fairway_connection {{ default upgrade; "" ""; }}
    map $http_x_request_id $fairway_request {{
        default $http_x_request_id;
        "" "$pid-$connection-$connection_requests-$msec";
    }}

    upstream endpoints {{
        server 0.0.0.1;
        balancer_by_lua_block {{ require("fairway.balancer").choose() }}
        keepalive 320;
        keepalive_requests 100000;
        keepalive_timeout 60s;
    }}

    server {{
{_listening(settings)}
        server_name _;
        ssl_certificate {folder}/default.crt;
        ssl_certificate_key {folder}/default.key;
        ssl_certificate_by_lua_block {{ require("fairway.certificates").choose() }}

        set $fairway_ingress "";
        set $fairway_backend "";
        set $fairway_scheme "http";
        set $fairway_host $http_host;
        set $fairway_realm off;
        set $fairway_passwords "{folder}/passwords/none";

        location = /.fairway/healthz {{ access_log off; return 200 "ok\\n"; }}

        location / {{
            rewrite_by_lua_block {{ require("fairway.router").route() }}
            auth_basic $fairway_realm;
            auth_basic_user_file $fairway_passwords;
            header_filter_by_lua_block {{ require("fairway.answers").headers() }}
            log_by_lua_block {{ require("fairway.counts").log() }}
            proxy_pass http://endpoints;
{_proxying("proxy")}
        }}

        location @https {{
            rewrite_by_lua_block {{ require("fairway.router").again() }}
            auth_basic $fairway_realm;
            auth_basic_user_file $fairway_passwords;
            header_filter_by_lua_block {{ require("fairway.answers").headers() }}
            log_by_lua_block {{ require("fairway.counts").log() }}
            proxy_pass https://endpoints;
            proxy_ssl_server_name on;
            proxy_ssl_name $host;
{_proxying("proxy")}
        }}

        location @grpc {{
            rewrite_by_lua_block {{ require("fairway.router").again() }}
            auth_basic $fairway_realm;
            auth_basic_user_file $fairway_passwords;
            header_filter_by_lua_block {{ require("fairway.answers").headers() }}
            log_by_lua_block {{ require("fairway.counts").log() }}
            grpc_pass $fairway_scheme://endpoints;
{_proxying("grpc")}
        }}
    }}

    server {{
        listen unix:{settings.socket};
        access_log off;
        client_body_buffer_size 8m;
        location / {{ content_by_lua_block {{ require("fairway.control").serve() }} }}
    }}"""


def _listening(settings: Settings) -> str:
    lines = []
    for address in settings.bind:
        only = " ipv6only=on" if address.startswith("[") else ""
        lines.append(f"        listen {address}:{settings.http_port} default_server{only} backlog=4096;")
        lines.append(
            f"        listen {address}:{settings.https_port} ssl http2 default_server{only} backlog=4096;"
        )
    return "\n".join(lines)


def _proxying(kind: str) -> str:
    headers = {
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
    if kind == "proxy":
        headers |= {"Upgrade": "$http_upgrade", "Connection": "$fairway_connection"}
    lines = [f"            {kind}_set_header {name} {value};" for name, value in headers.items()]
    # What is safe to repeat is tried with the next endpoint; how often, and for how long, Lua says.
    lines.append(f"            {kind}_next_upstream error timeout;")
    lines.append(f"            {kind}_next_upstream_tries 0;")
    return "\n".join(lines)
