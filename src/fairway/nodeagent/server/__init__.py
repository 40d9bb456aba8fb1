"""The agent's HTTPS server: exec and logs for the API server, over mutual TLS."""
