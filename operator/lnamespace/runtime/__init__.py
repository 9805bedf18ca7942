"""What a process needs to run: logs, a listener with bounds, probes."""
