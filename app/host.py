"""Serves app/main.py with the events route, a health check and the request filter: `streamlit run app/host.py`.

Procfile, Dockerfile and deploy/ run this file in hosted mode, where visitors have limits and cannot open folders or any
Hub model (models/labs/foreign/opening/hub.py). `make app` runs this file with an empty ATTENTION_LAB_HOSTED, that is,
not in hosted mode. `streamlit run app/main.py` also works, but without the events route every event runs the script.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Streamlit adds the folder of this file to the path, not the root. An installed package needs no addition.
if not (ROOT / "__init__.py").exists() and str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402
from starlette.routing import Route  # noqa: E402

from app import files_route, route  # noqa: E402
from app.server import gate, health, incoming, logs, sent, streamlit_internals  # noqa: E402
from app.state.lab_state import FIRST_PAGE, first_examples  # noqa: E402
from components.library import address  # noqa: E402
from components.mounting import style_element  # noqa: E402
from models.labs.foreign.opening import hub  # noqa: E402

os.environ.setdefault(hub.SETTING, "1")
files_route.compressed_library()  # compressed now, so that the first visitor does not wait
incoming.bound_server()
streamlit_internals.draw_for_pages_of_lost_sessions(FIRST_PAGE)
streamlit_internals.drop_messages_with_their_block()
streamlit_internals.show_no_error_dialogs()


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Sets up the log and the health check when the server starts, as ASGI's lifespan protocol defines it."""
    logs.begin()
    health.begin(first_examples)
    sweep = asyncio.create_task(incoming.end_sessions())
    yield
    sweep.cancel()


base = st.get_option("server.baseUrlPath").strip("/")
prefix = f"/{base}" if base else ""
# A balancer checks the health at the root; with a base path it may check there as well.
paths = [health.HEALTH, *([f"{prefix}{health.HEALTH}"] if base else [])]
streamlit_app = st.App(ROOT / "app" / "main.py", lifespan=lifespan,
                       routes=[*(Route(path, health.healthz) for path in paths), route.route(prefix),
                               files_route.route(prefix), files_route.library_route(prefix)],
                       middleware=[Middleware(gate.Gate, hosts=gate.words(gate.HOSTS), frames=gate.words(gate.FRAMES),
                                              local=not hub.access().hosted, preload=f"{prefix}/{address()}"),
                                   Middleware(sent.FirstPaint, style=style_element()),
                                   Middleware(sent.StaticFiles, prefix=prefix)])
