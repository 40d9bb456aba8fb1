"""This machine as a Node object: its registration, its heartbeat."""
