"""All undocumented names of Streamlit's Python code that the app uses; tests/test_streamlit.py checks these names.

Streamlit documents no interface for its sessions, uploads and websocket messages. A new version can rename these
objects, so other modules import them only from this module.
"""

import json
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import streamlit
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from streamlit.proto.BackMsg_pb2 import BackMsg as BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg as ForwardMsg
from streamlit.runtime import Runtime
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.util import calc_hash
from streamlit.web.server.starlette import starlette_app

page_query: ContextVar[str] = ContextVar("page query", default="")  # of the page that opens the present websocket
UPLOAD_PATH = "/_stcore/upload_file/"  # followed by the session id and the file id


def session_id() -> str:
    """Returns the id of the Streamlit session of this thread; an empty string outside a script run."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def is_connected(session: str) -> bool:
    """Returns whether a session has an open websocket; True without a running server."""
    return not Runtime.exists() or Runtime.instance().is_active_session(session)


def active_sessions() -> int:
    """Returns the number of sessions with an open websocket, from Streamlit's statistics."""
    if not Runtime.exists():
        return 0
    statistics = Runtime.instance().stats_mgr.get_stats(family_names=["active_sessions"])
    return sum(int(getattr(stat, "value", 0)) for stats in statistics.values() for stat in stats)


def draw_for_pages_of_lost_sessions(first_page: str) -> None:
    """Makes the script run for a page whose session this server does not know, for example after a restart.

    Streamlit's page requests a run only when it is loaded. Without this function, the page would show the state of the
    lost session, and the page's events would name fragments that the new session does not have. The run has the query
    of the page (`page_query`) and is of the address `/`, whose page has the key `first_page`. For a run of another page
    the browser would remove all elements, with the focus and the letters that are typed meanwhile.
    """
    connect = Runtime.connect_session

    def connect_session(runtime: Runtime, client: Any, user_info: Any, existing_session_id: str | None = None,
                        session_id_override: str | None = None) -> str:
        known = connect(runtime, client, user_info, existing_session_id, session_id_override)
        session_info = runtime._session_mgr.get_active_session_info(known)
        if existing_session_id and known != existing_session_id and session_info:
            session_info.session.request_rerun(ClientState(page_script_hash=calc_hash(first_page),
                                                           query_string=page_query.get()))
        return known

    Runtime.connect_session = connect_session  # type: ignore[assignment, method-assign]


def show_no_error_dialogs() -> None:
    """Makes Streamlit's page open no error dialogs.

    The dialog about a lost connection opens after 3.5 s and takes the focus, so that typed letters are lost. The app
    shows a line instead, and sends its events when the server is back. Call it before the app is created.
    """
    patched: Any = starlette_app  # exports the function that it imports only by accident
    create = patched.create_host_config_routes

    def create_routes(base_url: str | None) -> list[BaseRoute]:
        (original,) = create(base_url)
        assert isinstance(original, Route)

        async def host_config(request: Request) -> Response:
            answer: Response = await original.endpoint(request)
            answer.body = json.dumps(json.loads(bytes(answer.body)) | {"blockErrorDialogs": True}).encode()
            answer.headers["Content-Length"] = str(len(answer.body))
            return answer
        return [Route(original.path, host_config)]

    patched.create_host_config_routes = create_routes


def drop_messages_with_their_block() -> None:
    """Makes Streamlit drop the messages of a fragment together with the block that contains the fragment.

    When a fragment starts to run, Streamlit drops the messages of its earlier run that the browser has not received
    yet, but keeps those of the fragments inside. The browser then received elements for a block that it did not have,
    and showed the error "Cannot set a node at a delta path". The new run sends the inner fragments again.
    """
    clear = ForwardMsgQueue.clear

    def clear_with_inner_fragments(queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False,
                                   fragment_ids_this_run: list[str] | None = None) -> None:
        before = queue._queue if fragment_ids_this_run else []
        clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)
        kept = {id(message) for message in queue._queue}
        dropped = {tuple(message.metadata.delta_path) for message in before
                   if id(message) not in kept and message.delta.WhichOneof("type") == "add_block"}
        if dropped:
            queue._queue = [message for message in queue._queue if not _is_inside(message, dropped)]

    ForwardMsgQueue.clear = clear_with_inner_fragments  # type: ignore[assignment, method-assign]


def _is_inside(message: ForwardMsg, blocks: set[tuple[int, ...]]) -> bool:
    """Returns whether the message is about an element inside one of the blocks, which are given by their paths."""
    path = tuple(message.metadata.delta_path)
    return any(path[:length] in blocks for length in range(1, len(path)))


def end_expired_sessions() -> int:
    """Ends the sessions that have been disconnected for server.disconnectedSessionTTL, and returns their number.

    Call it on the event loop. Streamlit removes expired sessions only when another browser disconnects. Until the next
    full garbage collection, the event loops of these sessions (three descriptors each) and their uploads stay in
    memory.
    """
    manager = Runtime.instance()._session_mgr if Runtime.exists() else None
    storage = getattr(manager, "_session_storage", None)
    if storage is None:
        return 0
    with manager._storage_lock:  # type: ignore[union-attr]  # of WebsocketSessionManager, which has a storage
        expired = storage._cache.expire()
    for _, session in expired:
        session.session.shutdown()
        session.session.session_state.clear()  # Streamlit's cycles would keep the Visit until a full collection
    return len(expired)


def uploading_sessions() -> list[str]:
    """Returns the ids of the sessions that have uploaded files in memory."""
    return [*getattr(Runtime.instance().uploaded_file_mgr, "file_storage", {})] if Runtime.exists() else []


def uploaded_bytes(session: str | None = None) -> int:
    """Returns the bytes of a session's uploaded files in memory; None counts the files of all sessions."""
    files = getattr(Runtime.instance().uploaded_file_mgr, "file_storage", {}) if Runtime.exists() else {}
    chosen = [*files.values()] if session is None else [files.get(session, {})]
    return sum(len(file.data) for of_session in chosen for file in [*of_session.values()])


def went_back_or_forward() -> bool:
    """Returns True if the browser's back or forward button caused this run; then the address determines the state.

    If a later version lacks the attribute, back and forward change only the address.
    """
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))


def static_folder() -> Path:
    """Returns the folder with Streamlit's page, scripts and styles."""
    return Path(streamlit.__file__).parent / "static"


def index_page() -> str:
    return (static_folder() / "index.html").read_text(encoding="utf-8")
