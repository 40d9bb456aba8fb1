"""How to reach and identify ourselves to an API server: kubeconfig files, in-cluster files, environment.

Only reading configuration belongs here; connections are made in `transport`, plugins run by `credentials`.
What client-go honours is honoured; `auth-provider`, which it no longer does, is refused by name.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fairway.client.errors import KubeConfigError
from fairway.client.exec_plugin import ExecPlugin, plugin_of

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class KubeConfig:
    """One server and one identity. Certificates are held as PEM bytes, wherever they came from."""

    server: str
    namespace: str = "default"
    ca: bytes | None = None
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None
    client_certificate: bytes | None = None
    client_key: bytes | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    impersonate: Mapping[str, Any] = field(default_factory=dict)
    exec: ExecPlugin | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str], context: str | None = None) -> KubeConfig:
        """Read one kubeconfig file; `context` overrides its current-context."""
        return _select(_read(Path(path).expanduser()), context)

    @classmethod
    def in_cluster(cls, root: Path = _SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ) -> KubeConfig:
        """The service account that Kubernetes mounts into every Pod."""
        host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
        if not host or not port:
            raise KubeConfigError("not in a cluster: KUBERNETES_SERVICE_HOST and _PORT must be set")
        host = f"[{host}]" if ":" in host else host
        namespace = root / "namespace"
        return cls(
            server=f"https://{host}:{port}",
            namespace=namespace.read_text().strip() if namespace.exists() else "default",
            ca=_read_file(root / "ca.crt", "service account CA"),
            token_file=root / "token",
        )

    @classmethod
    def from_env(cls, context: str | None = None, environ: Mapping[str, str] = os.environ) -> KubeConfig:
        """As kubectl looks for it: $KUBECONFIG (several files merge), ~/.kube/config, in-cluster."""
        if names := [name for name in environ.get("KUBECONFIG", "").split(os.pathsep) if name]:
            paths = [path for path in map(Path, names) if path.exists()]
            if not paths:
                raise KubeConfigError(f"KUBECONFIG names no file that exists: {os.pathsep.join(names)}")
            return _select(_merge([_read(path) for path in paths]), context)
        default = Path(environ.get("HOME") or Path.home()) / ".kube" / "config"
        return cls.load(default, context) if default.exists() else cls.in_cluster(environ=environ)

    def ssl_context(self) -> ssl.SSLContext | None:
        """The TLS settings, or None for a plain http:// server."""
        if not self.server.startswith("https://"):
            return None
        try:
            tls = ssl.create_default_context(cadata=self.ca.decode() if self.ca else None)
            # Cluster CAs in the wild lack the key identifiers that strict mode (Python 3.13) demands.
            tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
            if self.insecure_skip_tls_verify:
                tls.check_hostname = False
                tls.verify_mode = ssl.CERT_NONE
            if self.client_certificate:
                _load_identity(tls, self.client_certificate, self.client_key or b"")
        except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
            raise KubeConfigError(f"unusable certificate or key: {error}") from error
        return tls

    def authorization(self) -> str | None:
        """The Authorization header. A token file is read anew each time because Kubernetes rotates it."""
        if self.token_file:
            return "Bearer " + _read_file(self.token_file, "token").decode().strip()
        if self.token:
            return f"Bearer {self.token}"
        if self.username is not None:
            pair = f"{self.username}:{self.password or ''}".encode()
            return "Basic " + base64.b64encode(pair).decode()
        return None


def _load_identity(tls: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """OpenSSL takes only file names here, so the pair lives in a file of mode 0600 for one call."""
    with tempfile.NamedTemporaryFile(prefix="fairway-") as pem:
        pem.write(certificate.rstrip() + b"\n" + key)
        pem.flush()
        tls.load_cert_chain(pem.name)


@dataclass(frozen=True, slots=True)
class _File:
    """The three named lists of a kubeconfig, with every path already absolute."""

    current_context: str
    clusters: Mapping[str, Mapping[str, Any]]
    users: Mapping[str, Mapping[str, Any]]
    contexts: Mapping[str, Mapping[str, Any]]


def _read(path: Path) -> _File:
    try:
        document = yaml.load(path.read_bytes(), Loader=_Loader) or {}
    except OSError as error:
        raise KubeConfigError(f"can't read kubeconfig {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise KubeConfigError(f"kubeconfig {path} is not YAML: {error}") from error
    if not isinstance(document, dict):
        raise KubeConfigError(f"kubeconfig {path} is not a mapping")
    return _File(
        document.get("current-context") or "",
        _named(document, "clusters", "cluster", path),
        _named(document, "users", "user", path),
        _named(document, "contexts", "context", path),
    )


_FOLDER = " folder"  # no field of a kubeconfig can be called so
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def _named(document: dict[str, Any], plural: str, singular: str, path: Path) -> dict[str, dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = {}
    try:
        for entry in document.get(plural) or ():
            value = dict(entry.get(singular) or {})
            for name in _PATHS:
                if value.get(name):
                    value[name] = path.parent / value[name]
            value[_FOLDER] = path.parent
            entries.setdefault(str(entry["name"]), value)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise KubeConfigError(f"kubeconfig {path}: {plural} must be a list of name and {singular}") from error
    return entries


def _merge(files: list[_File]) -> _File:
    """As client-go merges: for each name, and for current-context, the first file to set it wins."""
    merged: dict[str, dict[str, Any]] = {"clusters": {}, "users": {}, "contexts": {}}
    for file in reversed(files):
        for name in merged:
            merged[name] |= getattr(file, name)
    current = next((file.current_context for file in files if file.current_context), "")
    return _File(current, **merged)


def _select(file: _File, context: str | None) -> KubeConfig:
    name = context or file.current_context
    if name not in file.contexts:
        raise KubeConfigError(f'context "{name}" does not exist' if name else "no current-context is set")
    chosen = file.contexts[name]
    cluster = file.clusters.get(str(chosen.get("cluster")))
    if not cluster or not cluster.get("server"):
        raise KubeConfigError(f'context "{name}": cluster "{chosen.get("cluster")}" has no server')
    user_name = chosen.get("user")
    user = file.users.get(str(user_name)) if user_name else {}
    if user is None:
        raise KubeConfigError(f'context "{name}": user "{user_name}" does not exist')
    return _config(cluster, user, chosen.get("namespace") or "default")


def _config(cluster: Mapping[str, Any], user: Mapping[str, Any], namespace: str) -> KubeConfig:
    if user.get("auth-provider"):
        raise KubeConfigError("this kubeconfig's user needs an auth-provider plugin, which is not supported")
    return KubeConfig(
        server=str(cluster["server"]).rstrip("/"),
        namespace=namespace,
        ca=_pem(cluster, "certificate-authority"),
        insecure_skip_tls_verify=bool(cluster.get("insecure-skip-tls-verify")),
        tls_server_name=cluster.get("tls-server-name") or None,
        proxy_url=cluster.get("proxy-url") or None,
        client_certificate=_pem(user, "client-certificate"),
        client_key=_pem(user, "client-key"),
        token=user.get("token") or None,
        token_file=user.get("tokenFile") or None,
        username=user.get("username"),
        password=user.get("password"),
        impersonate=_impersonation(user),
        exec=_plugin(cluster, user),
    )


def _plugin(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ExecPlugin | None:
    """Static credentials beat a plugin, as in client-go."""
    if not user.get("exec") or user.get("token") or user.get("tokenFile"):
        return None
    ca = _pem(cluster, "certificate-authority")
    told = {
        "server": cluster["server"],
        "tls-server-name": cluster.get("tls-server-name"),
        "insecure-skip-tls-verify": cluster.get("insecure-skip-tls-verify"),
        "certificate-authority-data": base64.b64encode(ca).decode() if ca else None,
        "proxy-url": cluster.get("proxy-url"),
        "config": _extension(cluster, "client.authentication.k8s.io/exec"),
    }
    known = {name: value for name, value in told.items() if value}
    return plugin_of(user["exec"], user.get(_FOLDER) or Path(), known)


def _extension(cluster: Mapping[str, Any], name: str) -> Any:
    return next((e.get("extension") for e in cluster.get("extensions") or () if e.get("name") == name), None)


def _pem(entry: Mapping[str, Any], name: str) -> bytes | None:
    """Inline data beats a file, as in client-go."""
    if data := entry.get(f"{name}-data"):
        try:
            return base64.b64decode(data, validate=False)
        except (binascii.Error, TypeError, ValueError) as error:
            raise KubeConfigError(f"{name}-data is not base64") from error
    return _read_file(entry[name], name) if entry.get(name) else None


def _read_file(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KubeConfigError(f"can't read {what} {path}: {error.strerror}") from error


def _impersonation(user: Mapping[str, Any]) -> dict[str, Any]:
    """`as`, `as-uid`, `as-groups`: the headers they become."""
    names = {"as": "Impersonate-User", "as-uid": "Impersonate-Uid", "as-groups": "Impersonate-Group"}
    return {header: user[name] for name, header in names.items() if user.get(name)}
