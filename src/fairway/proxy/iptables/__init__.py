"""The iptables mode: the chains and rules that kube-proxy writes, name for name."""
