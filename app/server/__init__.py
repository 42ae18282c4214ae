"""The server process: request filter, health check, logs, turn queues, background jobs, caches and rate limits."""
