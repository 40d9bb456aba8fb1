"""Writes the table of object shapes that Fairway serves: src/fairway/api/schema/{shapes,messages}.json.

Two sources meet here: the OpenAPI definitions of Kubernetes 1.37 (package kubernetes-validate: structure,
merge keys, list types) and `go_fields*.txt` (Go types, omitempty, protobuf numbers; see read_go_types.py).

    python tools/generate_schema.py                  # shapes.json and messages.json, to be committed
    python tools/generate_schema.py --descriptions   # descriptions.json, for `kubectl explain`; not committed
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).parent
SCHEMA = TOOLS.parent / "src/fairway/api/schema"
Definitions = dict[str, dict[str, Any]]

SERVED = {
    "core.v1": "Namespace Node Pod Service Endpoints ConfigMap Secret ServiceAccount Event "
    "ReplicationController Binding",
    "apps.v1": "Deployment ReplicaSet StatefulSet DaemonSet ControllerRevision",
    "autoscaling.v1": "Scale",
    "discovery.v1": "EndpointSlice",
    "networking.v1": "Ingress IngressClass NetworkPolicy ServiceCIDR IPAddress",
    "coordination.v1": "Lease",
    "events.v1": "Event",
    "policy.v1": "PodDisruptionBudget Eviction",
    "authentication.v1": "TokenReview TokenRequest SelfSubjectReview",
    "authorization.v1": "SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview "
    "SelfSubjectRulesReview",
    "rbac.v1": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "meta.v1": "DeleteOptions Status WatchEvent",
}

# Fields whose presence differs between the release of go_fields.txt and 1.37: seen in recorded answers.
PRESENCE = {
    "meta.v1.ObjectMeta.creationTimestamp": "omitzero",
}

# Defaults that take part in merging: the keys of list items that clients leave out.
DEFAULTS = {"core.v1.ServicePort.protocol": "TCP", "core.v1.ContainerPort.protocol": "TCP"}

SPECIAL = {
    "api.resource.Quantity": "quantity",
    "util.intstr.IntOrString": "intstr",
    "meta.v1.Time": "time",
    "meta.v1.MicroTime": "microtime",
    "meta.v1.FieldsV1": "raw",
    "pkg.runtime.RawExtension": "raw",
}
SCALARS = {
    ("string", ""): "string",
    ("string", "byte"): "bytes",
    ("boolean", ""): "bool",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", "double"): "double",
}
GO_NAMES = {
    "bytes": "[]uint8",
    "double": "float64",
    "quantity": "resource.Quantity",
    "intstr": "intstr.IntOrString",
    "time": "v1.Time",
    "microtime": "v1.MicroTime",
}
POINTER, ALWAYS, OMITZERO, REQUIRED = 1, 2, 4, 8


@dataclass(frozen=True)
class GoField:
    """A line of go_fields.txt. `+` for a name is an embedded struct, whose fields stand in its place."""

    name: str
    spelled: str
    underlying: str
    presence: str
    number: int


def short(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` → `core.v1.Pod`; the last three parts are unique among what we serve."""
    return ".".join(name.split(".")[-3:])


def load_definitions() -> Definitions:
    source = files("kubernetes_validate") / "kubernetes-json-schema/v1.37.0-local/_definitions.json"
    loaded: Definitions = json.loads(source.read_text())["$defs"]
    return {short(name): body for name, body in loaded.items() if "apiextensions" not in name}


def load_go_fields() -> dict[str, dict[str, GoField]]:
    """Struct → its fields by JSON name; the later file adds to the earlier and overrides it."""
    structs: dict[str, dict[str, GoField]] = {}
    lines = [
        line
        for path in ("go_fields.txt", "go_fields_later.txt")
        for line in (TOOLS / path).read_text().splitlines()
        if line and not line.startswith("#")
    ]
    current: dict[str, GoField] = {}
    for line in lines:
        if not line.startswith(" "):
            current = structs.setdefault(line, {})
            continue
        name, *middle, presence, number = line.split()
        spelled, _, underlying = " ".join(middle).partition("=")
        key = f"+{spelled}" if name == "+" else name
        current[key] = GoField(key, spelled, underlying or spelled, presence, int(number))
    return structs


def flatten(structs: dict[str, dict[str, GoField]], name: str) -> dict[str, GoField]:
    """The struct's fields as JSON has them: those of embedded structs included."""
    found: dict[str, GoField] = {}
    for field in structs.get(name, {}).values():
        if field.name.startswith("+"):
            found = flatten(structs, field.spelled) | found
        else:
            found[field.name] = field
    return found


def reachable(definitions: Definitions, roots: list[str]) -> list[str]:
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += references(definitions[name])
    return sorted(seen)


def references(body: Any) -> list[str]:
    if isinstance(body, list):
        return [name for item in body for name in references(item)]
    if not isinstance(body, dict):
        return []
    if isinstance(body.get("$ref"), str):
        return [short(body["$ref"])]
    return [name for item in body.values() for name in references(item)]


def served(definitions: Definitions) -> list[str]:
    kinds = [f"{group}.{kind}" for group, names in SERVED.items() for kind in names.split()]
    return kinds + [f"{kind}List" for kind in kinds if f"{kind}List" in definitions]


def type_code(schema: dict[str, Any]) -> str:
    """`string`, `[]&core.v1.ServicePort`, `{}quantity`…: `[]` a list of, `{}` a map to, `&` a struct."""
    if "$ref" in schema:
        name = short(schema["$ref"])
        return SPECIAL.get(name) or f"&{name}"
    kinds = schema["type"]
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind == "array":
        return "[]" + type_code(schema["items"])
    if kind == "object":
        return "{}" + type_code(schema["additionalProperties"])
    return SCALARS[kind, schema.get("format", "")]


def go_name(code: str) -> str:
    """How Go spells the type if it has no name of its own; runtime has the same rule."""
    if code.startswith("[]"):
        return "[]" + go_name(code[2:])
    if code.startswith("{}"):
        return "map[string]" + go_name(code[2:])
    if code.startswith("&"):
        return "v1." + code.rsplit(".", 1)[1]
    return GO_NAMES.get(code, code)


def row(owner: str, name: str, schema: dict[str, Any], go: GoField | None, required: bool) -> list[Any]:
    """[name, type, bits, extras]; extras only where there are any."""
    code = type_code(schema)
    presence = go.presence if go else ("always" if required else "omitempty")
    presence = PRESENCE.get(f"{owner}.{name}", presence)
    pointer = bool(go and go.spelled.startswith("*"))
    bits = POINTER * pointer | REQUIRED * required
    bits |= ALWAYS * (presence == "always") | OMITZERO * (presence == "omitzero")
    extras = {
        "key": schema.get("x-kubernetes-patch-merge-key"),
        "strategy": schema.get("x-kubernetes-patch-strategy"),
        "list": schema.get("x-kubernetes-list-type"),
        "keys": schema.get("x-kubernetes-list-map-keys"),
        "map": schema.get("x-kubernetes-map-type"),
        "default": DEFAULTS.get(f"{owner}.{name}"),
        "go": go.spelled.lstrip("*") if go and go.spelled.lstrip("*") != go_name(code) else None,
    }
    extras = {key: value for key, value in extras.items() if value is not None}
    return [name, code, bits, extras] if extras else [name, code, bits]


def shapes(definitions: Definitions, structs: dict[str, dict[str, GoField]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name in reachable(definitions, served(definitions)):
        body = definitions[name]
        if name in SPECIAL:
            continue
        go = flatten(structs, name)
        needed = body.get("required", ())
        rows = [
            row(name, field, schema, go.get(field), field in needed)
            for field, schema in body["properties"].items()
        ]
        table[name] = [body.get("x-kubernetes-map-type", ""), rows]
    return table


def kinds(definitions: Definitions) -> dict[str, str]:
    """`apps/v1/Deployment` → the shape's name."""
    found = {}
    for name in served(definitions):
        for gvk in definitions[name]["x-kubernetes-group-version-kind"]:
            if gvk["group"] == "" or not name.startswith("meta.v1"):
                version = f"{gvk['group']}/{gvk['version']}".lstrip("/")
                found[f"{version}/{gvk['kind']}"] = name
    return found


def message(
    name: str,
    table: dict[str, Any],
    structs: dict[str, dict[str, GoField]],
    outer: str,
    found: dict[str, Any],
) -> None:
    """Adds the protobuf message of a struct: rows of [number, JSON name, type]; an embedded struct has no
    name."""
    codes = {field[0]: field[1] for field in table[outer][1]}
    rows: list[list[Any]] = []
    for field in structs.get(name, {}).values():
        if not field.number:
            continue
        if field.name.startswith("+"):
            rows.append([field.number, "", f"&{field.spelled}"])
            if field.spelled not in found:
                message(field.spelled, table, structs, outer, found)
        elif field.name in codes:
            rows.append([field.number, field.name, codes[field.name]])
    found[name] = sorted(rows)


def messages(table: dict[str, Any], structs: dict[str, dict[str, GoField]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in table:
        message(name, table, structs, name, found)
    return dict(sorted(found.items()))


def descriptions(definitions: Definitions) -> dict[str, Any]:
    """What the reference says of a type (under "") and of each of its fields."""
    table = {}
    for name in reachable(definitions, served(definitions)):
        body = definitions[name]
        texts = {"": body.get("description", "")}
        texts |= {
            field: schema.get("description", "") for field, schema in body.get("properties", {}).items()
        }
        table[name] = {field: text for field, text in texts.items() if text}
    return table


def write(name: str, content: dict[str, Any]) -> None:
    """One entry a line, so that a new release shows as a readable difference."""
    sections = []
    for section, entries in content.items():
        lines = [f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in entries.items()]
        sections.append(f"{json.dumps(section)}:{{\n" + ",\n".join(lines) + "\n}")
    path = SCHEMA / name
    path.write_text("{" + ",\n".join(sections) + "}\n")
    print(f"{path}: {path.stat().st_size} bytes")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--descriptions", action="store_true")
    definitions = load_definitions()
    if options.parse_args().descriptions:
        write("descriptions.json", {"descriptions": descriptions(definitions)})
        return
    structs = load_go_fields()
    table = shapes(definitions, structs)
    write("shapes.json", {"kinds": kinds(definitions), "shapes": table})
    write("messages.json", {"messages": messages(table, structs)})


if __name__ == "__main__":
    main()
