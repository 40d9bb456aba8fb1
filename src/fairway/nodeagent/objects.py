"""The node agent's view of a Pod: every field that matters to running it.

Wider than `fairway.api.objects.Pod`, which is what controllers and the scheduler see. Read-only, pure.
"""

from __future__ import annotations

import msgspec

from fairway.api.objects import ContainerPort, ObjectMeta, PodReadinessGate, View

# ---- where values come from ------------------------------------------------------------------------------


class FieldSelector(View, frozen=True):
    field_path: str = ""


class ResourceFieldSelector(View, frozen=True):
    resource: str = ""
    container_name: str = ""
    divisor: str = "1"


class KeySelector(View, frozen=True):
    name: str = ""
    key: str = ""
    optional: bool = False


class EnvSource(View, frozen=True):
    field_ref: FieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None


class EnvVar(View, frozen=True):
    name: str = ""
    value: str = ""
    value_from: EnvSource | None = None


class EnvFromReference(View, frozen=True):
    name: str = ""
    optional: bool = False


class EnvFrom(View, frozen=True):
    prefix: str = ""
    config_map_ref: EnvFromReference | None = None
    secret_ref: EnvFromReference | None = None


# ---- probes ----------------------------------------------------------------------------------------------


class ExecAction(View, frozen=True):
    command: tuple[str, ...] = ()


class HttpHeader(View, frozen=True):
    name: str = ""
    value: str = ""


class HttpGetAction(View, frozen=True):
    port: int | str = 80
    path: str = "/"
    host: str = ""
    scheme: str = "HTTP"
    http_headers: list[HttpHeader] | None = None


class TcpSocketAction(View, frozen=True):
    port: int | str = 80
    host: str = ""


class GrpcAction(View, frozen=True):
    port: int = 0
    service: str = ""


class SleepAction(View, frozen=True):
    seconds: int = 0


class Probe(View, frozen=True):
    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    tcp_socket: TcpSocketAction | None = None
    grpc: GrpcAction | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class LifecycleHandler(View, frozen=True):
    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(View, frozen=True):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None


# ---- containers ------------------------------------------------------------------------------------------


class Capabilities(View, frozen=True):
    add: list[str] | None = None
    drop: list[str] | None = None


class SeccompProfile(View, frozen=True):
    type: str = ""
    localhost_profile: str = ""


class SecurityContext(View, frozen=True):
    """Of a Pod or of one container; each of the two uses its own part of the fields."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    privileged: bool = False
    allow_privilege_escalation: bool | None = None
    read_only_root_filesystem: bool = False
    capabilities: Capabilities | None = None
    supplemental_groups: list[int] | None = None
    fs_group: int | None = None
    sysctls: list[EnvVar] | None = None
    seccomp_profile: SeccompProfile | None = None


class Resources(View, frozen=True):
    limits: dict[str, str | int | float] | None = None
    requests: dict[str, str | int | float] | None = None


class VolumeMount(View, frozen=True):
    name: str = ""
    mount_path: str = ""
    sub_path: str = ""
    sub_path_expr: str = ""
    read_only: bool = False


class Container(View, frozen=True):
    name: str = ""
    image: str = ""
    image_pull_policy: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    working_dir: str = ""
    ports: list[ContainerPort] | None = None
    env: list[EnvVar] | None = None
    env_from: list[EnvFrom] | None = None
    resources: Resources = Resources()
    volume_mounts: list[VolumeMount] | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    security_context: SecurityContext = SecurityContext()
    restart_policy: str | None = None
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: str = "File"
    tty: bool = False
    stdin: bool = False
    stdin_once: bool = False


# ---- volumes ---------------------------------------------------------------------------------------------


class KeyToPath(View, frozen=True):
    key: str = ""
    path: str = ""
    mode: int | None = None


class EmptyDirSource(View, frozen=True):
    medium: str = ""
    size_limit: str | int | None = None


class HostPathSource(View, frozen=True):
    path: str = ""
    type: str = ""


class ConfigMapSource(View, frozen=True):
    name: str = ""
    items: list[KeyToPath] | None = None
    default_mode: int = 0o644
    optional: bool = False


class SecretSource(View, frozen=True):
    secret_name: str = ""
    name: str = ""
    items: list[KeyToPath] | None = None
    default_mode: int = 0o644
    optional: bool = False


class DownwardFile(View, frozen=True):
    path: str = ""
    field_ref: FieldSelector | None = None
    mode: int | None = None


class DownwardSource(View, frozen=True):
    items: list[DownwardFile] | None = None
    default_mode: int = 0o644


class TokenSource(View, frozen=True):
    path: str = ""
    audience: str = ""
    expiration_seconds: int = 3600


class ProjectedPart(View, frozen=True):
    config_map: ConfigMapSource | None = None
    secret: SecretSource | None = None
    downward_api: DownwardSource | None = msgspec.field(default=None, name="downwardAPI")
    service_account_token: TokenSource | None = None


class ProjectedSource(View, frozen=True):
    sources: list[ProjectedPart] | None = None
    default_mode: int = 0o644


class Volume(View, frozen=True):
    name: str = ""
    empty_dir: EmptyDirSource | None = None
    host_path: HostPathSource | None = None
    config_map: ConfigMapSource | None = None
    secret: SecretSource | None = None
    downward_api: DownwardSource | None = msgspec.field(default=None, name="downwardAPI")
    projected: ProjectedSource | None = None


# ---- the Pod ---------------------------------------------------------------------------------------------


class HostAlias(View, frozen=True):
    ip: str = ""
    hostnames: tuple[str, ...] = ()


class DnsOption(View, frozen=True):
    name: str = ""
    value: str | None = None


class DnsConfig(View, frozen=True):
    nameservers: list[str] | None = None
    searches: list[str] | None = None
    options: list[DnsOption] | None = None


class PodSpec(View, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: list[Container] | None = None
    volumes: list[Volume] | None = None
    node_name: str = ""
    service_account_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    set_hostname_as_fqdn: bool = msgspec.field(default=False, name="setHostnameAsFQDN")
    host_network: bool = False
    host_pid: bool = msgspec.field(default=False, name="hostPID")
    host_ipc: bool = msgspec.field(default=False, name="hostIPC")
    share_process_namespace: bool = False
    host_aliases: list[HostAlias] | None = None
    dns_policy: str = "ClusterFirst"
    dns_config: DnsConfig | None = None
    enable_service_links: bool = True
    restart_policy: str = "Always"
    termination_grace_period_seconds: int = 30
    readiness_gates: list[PodReadinessGate] | None = None
    security_context: SecurityContext = SecurityContext()


class Condition(View, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class ContainerStatus(View, frozen=True):
    name: str = ""
    container_id: str = msgspec.field(default="", name="containerID")
    ready: bool = False
    started: bool | None = None


class PodStatus(View, frozen=True):
    phase: str = ""
    conditions: list[Condition] | None = None
    start_time: str | None = None
    pod_ip: str = msgspec.field(default="", name="podIP")
    container_statuses: list[ContainerStatus] | None = None


class Pod(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def hostname(self) -> str:
        """The name the Pod calls itself; at most 63 characters, as Linux and DNS labels demand."""
        return (self.spec.hostname or self.metadata.name)[:63].rstrip("-.")

    def fqdn(self, cluster_domain: str) -> str:
        """Empty without a subdomain: only those Pods have a name of their own in DNS."""
        if not self.spec.subdomain:
            return ""
        return f"{self.hostname}.{self.spec.subdomain}.{self.metadata.namespace}.svc.{cluster_domain}"

    def container(self, name: str) -> Container | None:
        everyone = [*(self.spec.init_containers or ()), *self.spec.containers]
        return next((container for container in everyone if container.name == name), None)


# ---- what Pods refer to ------------------------------------------------------------------------------------


class ConfigMap(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None
    binary_data: dict[str, bytes] | None = None


class Secret(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, bytes] | None = None
