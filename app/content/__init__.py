"""The payload of the Lab and of its tools, without Streamlit and without a visitor's state."""
