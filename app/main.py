"""Attention Lab: `streamlit run app/main.py` from the repository's root."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # Streamlit puts this file's folder there, not the repository's root
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402

from app import serving, session  # noqa: E402
from app.header import PAGES  # noqa: E402
from components import library  # noqa: E402

st.set_page_config(page_title="Attention Lab", page_icon=ROOT / "assets" / "icon.svg", layout="wide",
                   initial_sidebar_state="collapsed")
st.html(ROOT / "assets" / "style.css")
serving.prepare()
page = st.navigation([st.Page(f"views/{name.lower()}.py", title=name, default=name == "Explore") for name in PAGES],
                     position="hidden")
session.follow_address()
with st.empty():  # what follows keeps its place on the page
    session.once(library)
page.run()
