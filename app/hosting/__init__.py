"""What stands between strangers and the app: who gets in (gate), how it is (health), what is written down (logs)."""
