"""The nftables mode: a Service is a handful of map elements; the chains and rules stay the same."""
