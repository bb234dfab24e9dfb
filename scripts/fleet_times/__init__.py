"""Measures gridjit.fleet: clusters of processes on this machine, each a host with a cache of its own."""
