"""StatefulSets: Pods with names that stay, made and removed in order."""
