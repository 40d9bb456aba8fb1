"""Pods that nobody will ever clean up: their node is gone, or they ended long ago."""
