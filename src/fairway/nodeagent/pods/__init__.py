"""One Pod: what it needs, what to do next, what to report, and the worker that does it."""
