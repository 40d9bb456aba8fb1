"""Containers through runc: their configuration, their processes, their output."""
