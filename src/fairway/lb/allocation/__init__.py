"""Which Service has which address; one process of a cluster decides."""
