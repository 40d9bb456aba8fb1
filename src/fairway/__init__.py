"""Fairway: Kubernetes Services as software of their own."""

__version__ = "0.1.0"
