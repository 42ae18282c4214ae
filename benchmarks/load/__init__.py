"""Benchmarks of a server with many visitors: waiting times, processor time, memory, and replicas."""
