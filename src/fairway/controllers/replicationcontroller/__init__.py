"""ReplicationControllers: ReplicaSets of an older day, run by the same code."""
