"""Benchmarks: one file each, run by `make bench [ONLY=name]`; each prints a table."""
