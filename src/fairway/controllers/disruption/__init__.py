"""PodDisruptionBudgets: how many of their Pods are well, and how many may be evicted right now."""
