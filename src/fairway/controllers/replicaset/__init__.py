"""ReplicaSets: as many Pods as asked for, made anew when one goes, the least useful removed first."""
