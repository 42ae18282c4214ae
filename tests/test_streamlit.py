"""The app depends on undocumented names inside Streamlit; each of them exists in the installed version.

The names are in assets/style.css and components/runtime/streamlit.js, and in no other style sheet or module.
"""

import re
import threading
from functools import cache
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.util import calc_hash

from app.state.lab_state import FIRST_PAGE
from components.mounting import FOLDER

ROOT = Path(__file__).resolve().parents[1]
STREAMLIT = Path(streamlit.__file__).parent
STYLE, SCRIPT = ROOT / "assets" / "style.css", FOLDER / "runtime" / "streamlit.js"
PRIVATE = re.compile(r"data-testid|\bst-key-|\.st[A-Z]|stActiveTheme|InputInstructions")


@cache
def frontend() -> str:
    """Returns the JavaScript that Streamlit sends to browsers."""
    return "\n".join(path.read_text("utf-8", "replace") for path in sorted((STREAMLIT / "static").rglob("*.js")))


def names() -> list[str]:
    """Returns every test id, class and attribute of Streamlit that the style sheet and the module contain."""
    style, script = STYLE.read_text("utf-8"), SCRIPT.read_text("utf-8")
    constants = re.findall(r"^const [A-Z_]+ = ['`](st[\w-]+)", script, re.MULTILINE)
    return sorted({*re.findall(r"data-testid='([\w-]+)'", style), *re.findall(r"\.(st[A-Z]\w+)", style), *constants,
                   "data-stale", "data-selected"})


def is_known(name: str, text: str) -> bool:
    """Returns whether Streamlit's code contains the name, whole or as a template such as `stBaseButton-${kind}`."""
    whole = re.escape(name)
    prefix = re.escape(name.split("-")[0])
    return bool(re.search(rf"[`\"'.\[ ]{whole}(?![\w-])", text) or "-" in name and re.search(rf"`{prefix}-\$\{{", text))


def test_names_are_found_and_a_dropped_one_is_noticed():
    assert {"stMain", "stMainMenu", "stActiveTheme-", "stBaseButton-primary", "stTable"} <= set(names())
    assert not is_known("stSidebarCollapsedControl", frontend())
    assert not is_known("stMa", "x.stMain") and is_known("stMain", "x.stMain")


@pytest.mark.parametrize("name", names())
def test_streamlit_has_the_name(name):
    assert is_known(name, frontend())


def test_the_chosen_theme_is_stored_under_this_key():
    version = re.search(r"stActiveTheme-\$\{location\.pathname\}-v(\d+)`", SCRIPT.read_text("utf-8"))
    assert version
    stored = re.search(r"(\w+)=(\d+),(\w+)=`stActiveTheme-\$\{window\.location\.pathname\}`,.{0,200}?"
                       r"ACTIVE_THEME:`\$\{\3\}-v\$\{\1\}`", frontend())
    assert stored
    assert stored[2] == version[1]


@pytest.mark.parametrize("path", sorted([*FOLDER.rglob("*.js"), *FOLDER.rglob("*.css")]),
                         ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_no_other_file_uses_them(path):
    assert path == SCRIPT or not PRIVATE.search(path.read_text("utf-8"))


# Undocumented modules of Streamlit's Python code, which only app/server/streamlit_internals.py imports.
UNDOCUMENTED = re.compile(r"^\s*(?:from|import) streamlit\.(?:proto|runtime|web)\b", re.MULTILINE)


def test_one_module_imports_what_streamlit_does_not_document():
    using = {str(path.relative_to(ROOT)) for folder in ("app", "components", "models")
             for path in (ROOT / folder).rglob("*.py") if UNDOCUMENTED.search(path.read_text("utf-8"))}
    assert using == {"app/server/streamlit_internals.py"}


def test_the_names_of_sessions_and_uploads_exist():
    """If Streamlit renames one, the app still runs, but without the feature that uses it."""
    from streamlit.runtime import Runtime
    from streamlit.runtime.app_session import AppSession
    from streamlit.runtime.caching.ttl_cache import TTLCache
    from streamlit.runtime.memory_session_storage import MemorySessionStorage
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
    from streamlit.runtime.scriptrunner import ScriptRunContext
    from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

    manager = WebsocketSessionManager(MemorySessionStorage(), None, None, None)  # type: ignore[arg-type]
    assert isinstance(manager._session_storage, MemorySessionStorage)
    assert isinstance(manager._session_storage._cache, TTLCache) and manager._storage_lock
    assert "_session_mgr" in Runtime.__init__.__code__.co_names and callable(AppSession.shutdown)
    assert MemoryUploadedFileManager("/x").file_storage == {}
    assert "is_history_navigation" in ScriptRunContext.__dataclass_fields__
    assert callable(Runtime.is_active_session) and callable(AppSession.session_state.fget)
    page = streamlit.Page.__new__(streamlit.Page)  # as app/main.py makes it, which needs a run of the script
    page._url_path = FIRST_PAGE
    assert page._script_hash == calc_hash(FIRST_PAGE)


def test_streamlit_opens_no_error_dialogs(monkeypatch: pytest.MonkeyPatch):
    from streamlit.web.server.starlette import starlette_app

    from app.server import streamlit_internals

    monkeypatch.setattr(starlette_app, "create_host_config_routes", starlette_app.create_host_config_routes)
    streamlit_internals.show_no_error_dialogs()
    (route,) = starlette_app.create_host_config_routes("lab")
    answer = TestClient(Starlette(routes=[route])).get("/lab/_stcore/host-config")
    assert answer.json()["blockErrorDialogs"] is True and "allowedOrigins" in answer.json()
    script = next((streamlit_internals.static_folder() / "static" / "js").glob("index.*.js")).read_text("utf-8")
    assert "blockErrorDialogs" in script


def test_messages_of_an_inner_fragment_are_dropped_with_their_block(monkeypatch: pytest.MonkeyPatch):
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

    from app.server import streamlit_internals

    def waiting(sent: int) -> list[tuple[str, list[int]]]:
        """Returns fragment and path of what waits for the browser when the fragment "page" runs again."""
        queue = ForwardMsgQueue()
        for index, (fragment, path, kind) in enumerate([
                ("", [0, 0], "block"), ("page", [0, 1], "block"), ("page", [0, 1, 0], "block"),
                ("inner", [0, 1, 0, 0], "block"), ("inner", [0, 1, 0, 0, 0], "text"), ("other", [0, 10], "text")]):
            message = ForwardMsg()
            message.metadata.delta_path.extend(path)
            message.delta.fragment_id = fragment
            if kind == "block":
                message.delta.add_block.SetInParent()
            else:
                message.delta.new_element.text.body = "text"
            queue.enqueue(message)
            if index < sent:
                queue.flush()
        queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["page"])
        return [(message.delta.fragment_id, list(message.metadata.delta_path)) for message in queue.flush()]

    inner = [("inner", [0, 1, 0, 0]), ("inner", [0, 1, 0, 0, 0])]
    root, other = ("", [0, 0]), ("other", [0, 10])
    assert waiting(0) == [root, *inner, other]  # Streamlit's own rule: the parents of `inner` are missing
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)
    streamlit_internals.drop_messages_with_their_block()
    assert waiting(0) == [root, other]
    assert waiting(2) == [other]
    assert waiting(3) == [*inner, other]  # the browser has their parents


def test_sessions_without_a_browser_are_ended(monkeypatch: pytest.MonkeyPatch):
    """A session without a browser is ended once, after its time limit."""
    from types import SimpleNamespace

    from streamlit.runtime.memory_session_storage import MemorySessionStorage

    from app.server import streamlit_internals

    ended, cleared = [], []
    storage = MemorySessionStorage(ttl_seconds=30)
    now = [0.0]
    monkeypatch.setattr(storage._cache, "_timer", lambda: now[0])
    manager = SimpleNamespace(_session_storage=storage, _storage_lock=threading.Lock())
    monkeypatch.setattr(streamlit_internals, "Runtime", SimpleNamespace(
        exists=lambda: True, instance=lambda: SimpleNamespace(_session_mgr=manager)))
    for name in ("old", "new"):
        session = SimpleNamespace(id=name, shutdown=lambda name=name: ended.append(name),
                                  session_state=SimpleNamespace(clear=lambda name=name: cleared.append(name)))
        storage.save(SimpleNamespace(session=session))  # type: ignore[arg-type]
        now[0] += 20.0
    assert streamlit_internals.end_expired_sessions() == 1 and ended == ["old"]
    assert streamlit_internals.end_expired_sessions() == 0 and ended == cleared == ["old"]


def test_a_browser_that_is_gone_is_forgotten_within_a_minute():
    from streamlit import config

    from app.server import incoming

    assert config.get_option("server.disconnectedSessionTTL") + incoming.SWEEP < 60
