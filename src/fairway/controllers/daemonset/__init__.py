"""DaemonSets: one Pod on every node that suits."""
