"""Attention Lab: `streamlit run app/main.py` from the repository's root."""

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # Streamlit puts this file's folder there, not the repository's root
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402

from app.panels.choice import choosing  # noqa: E402
from app.server import serving  # noqa: E402
from app.state import session, visit  # noqa: E402
from app.state.lab_state import FIRST_PAGE, PAGES, default_model  # noqa: E402
from app.texts import _  # noqa: E402
from app.views import DRAW  # noqa: E402
from components import library, page_style  # noqa: E402


@st.fragment
def present_page() -> None:
    """The page that is open. One fragment for all: what is typed and the click on another page are events of one
    fragment, so neither can overtake the other into a page that is no longer there."""
    session.speak()
    DRAW[session.history().present.page]()


def _lasting() -> None:
    """What the browser keeps until the visitor leaves."""
    library()
    choosing.send_catalogue()


def at(page: str) -> Callable[[], None]:
    """What an address with this path opens."""
    def run() -> None:
        session.follow_address(page)
        visit.current().address = st.context.ip_address
        session.speak()
        with st.empty().container(key="lasting"):  # what follows keeps its place on the page
            session.once(_lasting)
        present_page()
    return run


st.set_page_config(page_title="Attention Lab", page_icon=ROOT / "assets" / "icon.svg", layout="wide",
                   initial_sidebar_state="collapsed")
st.html(page_style())
serving.prepare()
try:
    default_model()
except LookupError:
    st.error(_("No model is here, or none can be read. Restore them with: git checkout -- models/checkpoints"))
    st.stop()
# A page is part of the state, and stands in the query; these paths are those of older links.
st.navigation([st.Page(at(page), title=_(title), url_path=page, default=page == FIRST_PAGE)
               for page, title in PAGES.items()], position="hidden").run()
