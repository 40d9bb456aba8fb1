"""Cluster IPs and node ports: never two Services the same, in the same transaction as the Service."""
