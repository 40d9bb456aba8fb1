"""Load balancers: addresses for Services, who on the network answers for them, and the layer 7 balancer."""
