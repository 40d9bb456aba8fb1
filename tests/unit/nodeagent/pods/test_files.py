from fairway.nodeagent.pods.files import Resolver, hosts_file, parse_resolver, resolver
from tests.unit.nodeagent.objects import make_pod

DNS = ("10.96.0.10",)
NOTHING = Resolver()
HOST = Resolver(("192.0.2.53",), ("example.com",), ("edns0",))


def resolv_conf(host: Resolver = NOTHING, **spec: object) -> str:
    return str(resolver(make_pod(namespace="shop", **spec), DNS, "cluster.local", host))


def test_by_default_a_pod_asks_the_cluster_and_searches_its_own_namespace_first() -> None:
    assert resolv_conf() == (
        "nameserver 10.96.0.10\n"
        "search shop.svc.cluster.local svc.cluster.local cluster.local\n"
        "options ndots:5\n"
    )


def test_the_nodes_search_domains_come_after_the_clusters() -> None:
    assert "search shop.svc.cluster.local svc.cluster.local cluster.local example.com\n" in resolv_conf(HOST)


def test_policy_default_is_what_the_node_uses() -> None:
    assert resolv_conf(HOST, dnsPolicy="Default") == (
        "nameserver 192.0.2.53\nsearch example.com\noptions edns0\n"
    )


def test_cluster_first_means_the_nodes_resolver_for_pods_in_the_nodes_network() -> None:
    assert resolv_conf(HOST, hostNetwork=True).startswith("nameserver 192.0.2.53\n")
    with_host_net = resolv_conf(HOST, hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")
    assert with_host_net.startswith("nameserver 10.96.0.10\n")


def test_policy_none_is_the_pods_own_configuration_alone() -> None:
    config = {"nameservers": ["192.0.2.1"], "searches": ["a.example"], "options": [{"name": "edns0"}]}
    assert resolv_conf(HOST, dnsPolicy="None", dnsConfig=config) == (
        "nameserver 192.0.2.1\nsearch a.example\noptions edns0\n"
    )


def test_dns_config_adds_servers_and_domains_and_overrides_options() -> None:
    config = {
        "nameservers": ["192.0.2.1", "10.96.0.10"],
        "searches": ["a.example"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}],
    }
    assert resolv_conf(dnsConfig=config) == (
        "nameserver 10.96.0.10\nnameserver 192.0.2.1\n"
        "search shop.svc.cluster.local svc.cluster.local cluster.local a.example\n"
        "options ndots:2 rotate\n"
    )


def test_a_resolv_conf_is_read_with_comments_and_the_last_search_line() -> None:
    text = "# by hand\nnameserver 192.0.2.1 # first\nsearch a\nsearch b c\noptions ndots:1 rotate\n;x\n"
    assert parse_resolver(text) == Resolver(("192.0.2.1",), ("b", "c"), ("ndots:1", "rotate"))


def test_hosts_ends_with_the_pods_address_and_name() -> None:
    lines = hosts_file(make_pod("web-1"), "10.244.1.7", "cluster.local").splitlines()
    assert lines[1] == "127.0.0.1\tlocalhost"
    assert lines[-1] == "10.244.1.7\tweb-1"


def test_hosts_has_the_full_name_where_the_pod_has_a_subdomain() -> None:
    pod = make_pod("busybox1", hostname="busybox-1", subdomain="default-subdomain")
    name = "busybox-1.default-subdomain.default.svc.cluster.local"
    assert hosts_file(pod, "10.244.1.7", "cluster.local").splitlines()[-1] == f"10.244.1.7\t{name}\tbusybox-1"


def test_host_aliases_follow_after_a_heading() -> None:
    pod = make_pod(hostAliases=[{"ip": "192.0.2.7", "hostnames": ["db", "db.example"]}])
    text = hosts_file(pod, "10.244.1.7", "cluster.local")
    assert text.endswith("\n# Entries added by HostAliases.\n192.0.2.7\tdb\tdb.example\n")


def test_a_long_pod_name_is_cut_to_a_host_name() -> None:
    assert make_pod("a" * 62 + "-bcd").hostname == "a" * 62
