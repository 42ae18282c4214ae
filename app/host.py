"""The app for strangers: `streamlit run app/host.py`, what Procfile, Dockerfile and deploy/ run.

main.py behind a gate, with a look at its health; what strangers must not do is closed
(models/labs/foreign/opening/hub.py). On one's own machine main.py is enough.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # Streamlit puts this file's folder there, not the repository's root
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402
from starlette.routing import Route  # noqa: E402

from app.server import connections, gate, health, logs  # noqa: E402
from models.labs.foreign.opening import hub  # noqa: E402

os.environ.setdefault(hub.SETTING, "1")
connections.bound_server()


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    logs.begin()
    health.begin()
    yield


streamlit_app = st.App(ROOT / "app" / "main.py", lifespan=lifespan, routes=[Route(health.HEALTH, health.healthz)],
                       middleware=[Middleware(gate.Gate, hosts=gate.words(gate.HOSTS), frames=gate.words(gate.FRAMES))])
