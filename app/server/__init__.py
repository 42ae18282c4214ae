"""The serving process: gate, health, logs, turns, jobs, caches, limits."""
