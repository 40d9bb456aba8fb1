"""The ipvs proxy mode: IPVS virtual servers, a dummy device for their addresses, and a few constant rules."""
