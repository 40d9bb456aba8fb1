"""The scheduler: gives every Pod without a node one it may run on, and spreads those that belong together."""
