"""The app as it is served: main.py with the events route, a health check and a gate. `streamlit run app/host.py`.

Procfile, Dockerfile and deploy/ run it for strangers, who may do less (models/labs/foreign/opening/hub.py). `make app`
runs it for its own user, with ATTENTION_LAB_HOSTED empty. main.py alone works too, but every event then runs the
Streamlit script.
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

from app import route  # noqa: E402
from app.server import connections, gate, health, logs  # noqa: E402
from models.labs.foreign.opening import hub  # noqa: E402

os.environ.setdefault(hub.SETTING, "1")
connections.bound_server()


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    logs.begin()
    health.begin()
    yield


base = st.get_option("server.baseUrlPath").strip("/")
routes = [Route(f"/{base}{health.HEALTH}" if base else health.HEALTH, health.healthz), route.route(base)]
streamlit_app = st.App(ROOT / "app" / "main.py", lifespan=lifespan, routes=routes,
                       middleware=[Middleware(gate.Gate, hosts=gate.words(gate.HOSTS), frames=gate.words(gate.FRAMES))])
