"""Containers, volumes and tolerations: what Pods and templates of Pods have in common."""

from __future__ import annotations

from typing import Any

from fairway.cli.description.text import NONE, Obj, Writer, listed, moment, pairs


def containers(writer: Writer, title: str, specs: list[Obj], statuses: list[Obj], template: bool) -> None:
    level = 1 if template else 0
    writer.line(level, f"{title}:")
    by_name = {status["name"]: status for status in statuses}
    for spec in specs:
        # A template's containers are indented by one space more than everything around them.
        writer.line(level + (0 if template else 1), f"{' ' if template else ''}{spec['name']}:")
        _container(writer, spec, by_name.get(spec["name"]), 2)


def _container(writer: Writer, spec: Obj, status: Obj | None, level: int) -> None:
    if status:
        writer.field("Container ID", status.get("containerID", ""), level)
    writer.field("Image", spec.get("image", ""), level)
    if status:
        writer.field("Image ID", status.get("imageID", ""), level)
    ports = spec.get("ports") or []
    own = [f"{port['containerPort']}/{port.get('protocol', 'TCP')}" for port in ports]
    host = [f"{port.get('hostPort', 0)}/{port.get('protocol', 'TCP')}" for port in ports]
    plural = "s" if len(ports) > 1 else ""
    writer.field(f"Port{plural}", ", ".join(own) or NONE, level)
    writer.field(f"Host Port{plural}", ", ".join(host) or NONE, level)
    for name, words in (("Command", spec.get("command")), ("Args", spec.get("args"))):
        if words:
            writer.line(level, f"{name}:")
            for word in words:
                writer.line(level + 1, word)
    if status:
        _state(writer, "State", status.get("state") or {}, level)
        if status.get("lastState"):
            _state(writer, "Last State", status["lastState"], level)
        writer.field("Ready", "True" if status.get("ready") else "False", level)
        writer.field("Restart Count", status.get("restartCount", 0), level)
    _resources(writer, spec.get("resources") or {}, level)
    for title, key in (
        ("Liveness", "livenessProbe"),
        ("Readiness", "readinessProbe"),
        ("Startup", "startupProbe"),
    ):
        if probe := spec.get(key):
            writer.field(title, probe_text(probe), level)
    _environment(writer, spec, level)
    _mounts(writer, spec, level)


def _state(writer: Writer, title: str, state: Obj, level: int) -> None:
    if running := state.get("running"):
        writer.field(title, "Running", level)
        writer.field("Started", moment(running.get("startedAt")), level + 1)
    elif ended := state.get("terminated"):
        writer.field(title, "Terminated", level)
        for name, key in (("Reason", "reason"), ("Message", "message")):
            if ended.get(key):
                writer.field(name, ended[key], level + 1)
        writer.field("Exit Code", ended.get("exitCode", 0), level + 1)
        if ended.get("signal"):
            writer.field("Signal", ended["signal"], level + 1)
        writer.field("Started", moment(ended.get("startedAt") or "1970-01-01T00:00:00Z"), level + 1)
        writer.field("Finished", moment(ended.get("finishedAt") or "1970-01-01T00:00:00Z"), level + 1)
    else:
        writer.field(title, "Waiting", level)
        waiting = state.get("waiting") or {}
        if waiting.get("reason"):
            writer.field("Reason", waiting["reason"], level + 1)


def _resources(writer: Writer, resources: Obj, level: int) -> None:
    for title, key in (("Limits", "limits"), ("Requests", "requests")):
        if stated := resources.get(key):
            writer.line(level, f"{title}:")
            for name in sorted(stated):
                writer.field(name, stated[name], level + 1)


def probe_text(probe: Obj) -> str:
    numbers = (
        f"delay={probe.get('initialDelaySeconds', 0)}s timeout={probe.get('timeoutSeconds', 1)}s "
        f"period={probe.get('periodSeconds', 10)}s #success={probe.get('successThreshold', 1)} "
        f"#failure={probe.get('failureThreshold', 3)}"
    )
    if action := probe.get("exec"):
        return f"exec [{' '.join(action['command'])}] {numbers}"
    if action := probe.get("httpGet"):
        scheme = action.get("scheme", "HTTP").lower()
        return (
            f"http-get {scheme}://{action.get('host', '')}:{action['port']}{action.get('path', '')} {numbers}"
        )
    if action := probe.get("tcpSocket"):
        return f"tcp-socket {action.get('host', '')}:{action['port']} {numbers}"
    if action := probe.get("grpc"):
        return f"grpc <pod>:{action['port']} {action.get('service') or ''} {numbers}"
    return f"unknown {numbers}"


def _environment(writer: Writer, spec: Obj, level: int) -> None:
    _environment_from(writer, spec.get("envFrom") or [], level)
    env = spec.get("env") or []
    if not env:
        writer.field("Environment", NONE, level)
        return
    writer.line(level, "Environment:")
    for variable in env:
        writer.field(variable["name"], _value(variable), level + 1)


def _environment_from(writer: Writer, sources: list[Obj], level: int) -> None:
    if not sources:
        return
    writer.line(level, "Environment Variables from:")
    for source in sources:
        kind, reference = (
            ("ConfigMap", source["configMapRef"])
            if "configMapRef" in source
            else ("Secret", source["secretRef"])
        )
        optional = "true" if reference.get("optional") else "false"
        prefix = f" with prefix '{source['prefix']}'" if source.get("prefix") else ""
        writer.line(level + 1, f"{reference['name']}\t{kind}{prefix}\tOptional: {optional}")


def _value(variable: Obj) -> str:
    source: dict[str, Any] = variable.get("valueFrom") or {}
    if reference := source.get("fieldRef"):
        return f" ({reference.get('apiVersion', 'v1')}:{reference['fieldPath']})"
    for key, kind in (("configMapKeyRef", "config map"), ("secretKeyRef", "secret")):
        if reference := source.get(key):
            optional = "true" if reference.get("optional") else "false"
            return (
                f"<set to the key '{reference['key']}' of {kind} '{reference['name']}'>\tOptional: {optional}"
            )
    if reference := source.get("resourceFieldRef"):
        return f"{reference['resource']}"
    return str(variable.get("value", "")).replace("\n", "\n\t")


def _mounts(writer: Writer, spec: Obj, level: int) -> None:
    mounts = sorted(spec.get("volumeMounts") or [], key=lambda mount: str(mount["mountPath"]))
    writer.line(level, "Mounts:" if mounts else f"Mounts:\t{NONE}")
    for mount in mounts:
        mode = "ro" if mount.get("readOnly") else "rw"
        sub = f',path="{mount["subPath"]}"' if mount.get("subPath") else ""
        writer.line(level + 1, f"{mount['mountPath']} from {mount['name']} ({mode}{sub})")


# ---- volumes -------------------------------------------------------------------------------------------


def volumes(writer: Writer, found: list[Obj], level: int) -> None:
    if not found:
        if level:
            writer.field("Volumes", NONE, level)
        return
    writer.line(level, "Volumes:")
    for volume in found:
        writer.line(level + 1, f"{volume['name']}:" if not level else f" {volume['name']}:"[level - 1 :])
        _volume(writer, volume, level + 2)


def _volume(writer: Writer, volume: Obj, level: int) -> None:
    if source := volume.get("projected"):
        writer.field("Type", "Projected (a volume that contains injected data from multiple sources)", level)
        for part in source.get("sources") or ():
            _projected(writer, part, level)
    elif (source := volume.get("emptyDir")) is not None:
        writer.field("Type", "EmptyDir (a temporary directory that shares a pod's lifetime)", level)
        writer.field("Medium", source.get("medium", ""), level)
        writer.field("SizeLimit", source.get("sizeLimit", "<unset>"), level)
    elif source := volume.get("configMap"):
        writer.field("Type", "ConfigMap (a volume populated by a ConfigMap)", level)
        writer.field("Name", source.get("name", ""), level)
        writer.field("Optional", str(bool(source.get("optional"))).lower(), level)
    elif source := volume.get("secret"):
        writer.field("Type", "Secret (a volume populated by a Secret)", level)
        writer.field("SecretName", source.get("secretName", ""), level)
        writer.field("Optional", str(bool(source.get("optional"))).lower(), level)
    elif source := volume.get("hostPath"):
        writer.field("Type", "HostPath (bare host directory volume)", level)
        writer.field("Path", source["path"], level)
        writer.field("HostPathType", source.get("type", ""), level)
    else:
        kind = next((key for key in volume if key != "name"), "unknown")
        writer.field("Type", kind, level)


def _projected(writer: Writer, part: Obj, level: int) -> None:
    if token := part.get("serviceAccountToken"):
        writer.field("TokenExpirationSeconds", token.get("expirationSeconds", 3600), level)
    elif source := part.get("configMap"):
        writer.field("ConfigMapName", source.get("name", ""), level)
        writer.field("ConfigMapOptional", _optional(source), level)
    elif source := part.get("secret"):
        writer.field("SecretName", source.get("name", ""), level)
        writer.field("SecretOptionalName", _optional(source), level)
    elif "downwardAPI" in part:
        writer.field("DownwardAPI", "true", level)


def _optional(source: Obj) -> str:
    return "<nil>" if source.get("optional") is None else str(source["optional"]).lower()


# ---- placement -----------------------------------------------------------------------------------------


def placement(writer: Writer, spec: Obj, level: int) -> None:
    listed(writer, "Node-Selectors", pairs(spec.get("nodeSelector")), level)
    listed(writer, "Tolerations", sorted(map(_toleration, spec.get("tolerations") or ())), level)


def _toleration(toleration: Obj) -> str:
    text = str(toleration.get("key", ""))
    if toleration.get("value"):
        text += f"={toleration['value']}"
    if toleration.get("effect"):
        text += f":{toleration['effect']}"
    if toleration.get("operator") == "Exists":
        text += " op=Exists" if text else "op=Exists"
    if toleration.get("tolerationSeconds") is not None:
        text += f" for {toleration['tolerationSeconds']}s"
    return text
