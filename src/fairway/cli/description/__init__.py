"""Objects described at length, as `kubectl describe` does: a file a kind, and one for all others. Pure."""
