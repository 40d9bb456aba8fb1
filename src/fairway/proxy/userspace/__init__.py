"""The userspace proxy mode: rules lead to ports of this node, and a process behind them relays bytes."""
