"""Computes the content of components from a model and its traces, without Streamlit and without a visitor's state."""
