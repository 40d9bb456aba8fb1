"""The two files that every Pod gets of its own: /etc/hosts and /etc/resolv.conf, as text. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.nodeagent.objects import DnsConfig, HostAlias, Pod

MAX_SEARCHES = 32
MAX_NAMESERVERS = 3


# ---- /etc/hosts ------------------------------------------------------------------------------------------


def hosts_file(pod: Pod, pod_ip: str, cluster_domain: str) -> str:
    lines = [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
        "fe00::0\tip6-localnet",
        "fe00::0\tip6-mcastprefix",
        "fe00::1\tip6-allnodes",
        "fe00::2\tip6-allrouters",
    ]
    if pod_ip:
        names = [name for name in (pod.fqdn(cluster_domain), pod.hostname) if name]
        lines.append("\t".join([pod_ip, *names]))
    return "\n".join(lines) + "\n" + _aliases(pod.spec.host_aliases or [])


def host_network_hosts_file(host_file: str, aliases: list[HostAlias] | None) -> str:
    """A Pod in the node's own network has the node's names."""
    return "# Kubernetes-managed hosts file (host network).\n" + host_file + _aliases(aliases or [])


def _aliases(aliases: list[HostAlias]) -> str:
    if not aliases:
        return ""
    lines = ["\t".join([alias.ip, *alias.hostnames]) for alias in aliases]
    return "\n# Entries added by HostAliases.\n" + "\n".join(lines) + "\n"


# ---- /etc/resolv.conf ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Resolver:
    """What a resolv.conf says."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"nameserver {address}" for address in self.nameservers]
        if self.searches:
            lines.append("search " + " ".join(self.searches))
        if self.options:
            lines.append("options " + " ".join(self.options))
        return "".join(line + "\n" for line in lines)


def parse_resolver(text: str) -> Resolver:
    nameservers: list[str] = []
    searches: tuple[str, ...] = ()
    options: list[str] = []
    for line in text.splitlines():
        match line.split("#")[0].split(";")[0].split():
            case ["nameserver", address, *_]:
                nameservers.append(address)
            case ["search", *domains]:
                searches = tuple(domains)
            case ["domain", domain, *_]:
                searches = (domain,)
            case ["options", *words]:
                options += words
    return Resolver(tuple(nameservers), searches, tuple(options))


def resolver(pod: Pod, cluster_dns: tuple[str, ...], cluster_domain: str, host: Resolver) -> Resolver:
    """By dnsPolicy, then dnsConfig on top. `host` is what the node itself uses."""
    policy = pod.spec.dns_policy or "ClusterFirst"
    if policy == "ClusterFirst" and pod.spec.host_network:
        policy = "Default"
    if policy == "None":
        base = Resolver()
    elif policy == "Default" or not cluster_dns:
        base = host
    else:
        namespace = pod.metadata.namespace
        own = (f"{namespace}.svc.{cluster_domain}", f"svc.{cluster_domain}", cluster_domain)
        base = Resolver(cluster_dns, (*own, *host.searches), ("ndots:5",))
    return _merged(base, pod.spec.dns_config or DnsConfig())


def _merged(base: Resolver, extra: DnsConfig) -> Resolver:
    nameservers = tuple(dict.fromkeys((*base.nameservers, *(extra.nameservers or ()))))
    searches = tuple(dict.fromkeys((*base.searches, *(extra.searches or ()))))
    options = {option.partition(":")[0]: option for option in base.options}
    for option in extra.options or ():
        options[option.name] = f"{option.name}:{option.value}" if option.value else option.name
    return Resolver(nameservers[:MAX_NAMESERVERS], searches[:MAX_SEARCHES], tuple(options.values()))
