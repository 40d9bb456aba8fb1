"""Deployments: one ReplicaSet a revision of the template, rolled over without losing availability."""
