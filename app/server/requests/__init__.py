"""Filters of what reaches Streamlit: requests, websocket messages, uploads, connections."""
