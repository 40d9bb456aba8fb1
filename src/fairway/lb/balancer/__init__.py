"""HAProxy, for Services whose annotations ask for more than passing packets on."""
