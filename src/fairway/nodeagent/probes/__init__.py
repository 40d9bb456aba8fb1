"""Probes: a state machine without I/O, the checks themselves, and what runs them."""
