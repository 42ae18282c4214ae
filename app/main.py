"""The Streamlit script that app/host.py serves. To run it alone, in the root: `streamlit run app/main.py`."""

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Streamlit adds the folder of this file to the path, not the root. An installed package needs no addition.
if not (ROOT / "__init__.py").exists() and str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402

from app.server import serving  # noqa: E402
from app.state import old_links, session, visit  # noqa: E402
from app.state.lab_state import FIRST_PAGE, PAGES, default_model  # noqa: E402
from app.texts import _  # noqa: E402
from app.views import DRAW  # noqa: E402
from components.library import library  # noqa: E402


@st.fragment
def present_page() -> None:
    """Displays the open page.

    All pages share one fragment, so that Streamlit handles typed text and a click on another page in order. With one
    fragment per page, an event could reach a page that is no longer open.
    """
    session.speak()
    DRAW[session.history().present.page]()


def _lasting() -> None:
    """Sends the component library, which the browser keeps for the whole session.

    Every run of the script sends them. Streamlit drops all messages of a run that a newer run overtakes, so that
    messages of the first run alone could be lost; of a message that the browser has, Streamlit sends only the hash.
    """
    with st.container(key="lasting"):
        library(on_missing=None if session.wants_whole_library() else session.send_whole_library)


def at(page: str) -> Callable[[], None]:
    """Returns the function that Streamlit runs for an address with this path."""
    def run() -> None:
        session.follow_address(page)
        visit.current().address = st.context.ip_address
        session.speak()
        _lasting()
        present_page()
    return run


st.set_page_config(page_title="Attention Lab", page_icon=ROOT / "assets" / "icon.svg", layout="wide",
                   initial_sidebar_state="collapsed")
serving.prepare()
try:
    default_model()
except LookupError:
    st.error(_("No model can be read. Restore them: git checkout -- models/checkpoints"))
    st.stop()
# Links name the page in the query, as part of the state. These paths keep older links working.
st.navigation([st.Page(at(page), title=_(PAGES.get(page, PAGES[FIRST_PAGE])), url_path=page, default=page == FIRST_PAGE)
               for page in (*PAGES, *old_links.PAGES)], position="hidden").run()
