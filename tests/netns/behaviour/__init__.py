"""The behaviour table with real packets: a world of namespaces, a proxy on every node, and those who ask."""
