"""Explore: type, take heads away, watch attention answer."""

from app import explore

explore.page()
