"""Who answers for an address on the network: one node at a time, by Lease."""
