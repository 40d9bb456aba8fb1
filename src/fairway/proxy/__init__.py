"""The node proxy: watches Services and EndpointSlices and programs the node to carry their traffic."""
