"""Routes of files: patterns of all heads, interactive charts, the model under the plan; and the component library.

    GET {base}/lab/visits/ID/files/NAME.{npz,json,csv,zip,html}    # mask.html is the mask F, any other name the head
    GET {base}/lab/library/VERSION.js    # browsers cache it, because its address changes with its content

Status codes: 404: no such file, or the session has ended or is in another process; then HAProxy asks the other replica.
422: the file cannot be made; the body has the reason. 429: the visit or its address is over a limit
(app/server/limits.py), as in app/route.py.
"""

import functools
import gzip
from functools import partial
from urllib.parse import quote

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app import exports, texts
from app.lab.tools import downloads
from app.lab.view import ERRORS, present_view
from app.route import AgainError, refused
from app.server import caches, limits, serving
from app.server.limits import Payer
from app.state import visit
from app.state.link import query_of
from app.state.visit import Visit
from app.texts import _
from components import library
from models import Trace
from models.errors import StructureError

HEADERS = {"Content-Encoding": "identity", "Cache-Control": "no-store"}
LIBRARY_HEADERS = {"Vary": "Accept-Encoding", "Cache-Control": "public, max-age=31536000, immutable"}


def route(prefix: str = "") -> Route:
    return Route(f"{prefix}/lab/visits/{{visit}}/files/{{name}}", receive, methods=["GET"])


async def receive(request: Request) -> Response:
    now = visit.find(request.path_params["visit"])
    named, _dot, ending = request.path_params["name"].rpartition(".")
    if now is None:
        return PlainTextResponse("This visit has ended.", 404)
    if ending not in exports.TYPES:
        return PlainTextResponse("Not found.", 404)
    address = str(request.url).partition("lab/visits/")[0]
    payer = Payer(now.allowance, limits.of_address(request.client.host if request.client else None))
    try:
        with payer.holds(limits.FILES) as free:
            if not free or payer.wait(limits.WORK) > 0:
                return await refused(AgainError())
            name, data = await to_thread.run_sync(partial(made, now, ending, address, named == "mask"))
    except (*ERRORS, StructureError) as error:
        with visit.use(now):
            texts.speak(now.history.present.language)
            return PlainTextResponse(_(str(error)), 422)
    disposition = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(data, media_type=exports.TYPES[ending], headers=HEADERS | {"Content-Disposition": disposition})


def made(now: Visit, ending: str, address: str, is_mask: bool = False) -> tuple[str, bytes]:
    """Returns the name and the content of a file; raises one of ERRORS or StructureError."""
    with visit.use(now), serving.drawing():
        texts.speak(now.history.present.language)
        view = present_view()
        lab, state, seen = view.lab, view.state, view.after
        if ending == "zip":
            if reason := downloads.refusal(lab, state.plan):
                raise ValueError(reason)
            limits.spend(limits.PASSES)
            with serving.computing():
                downloads.check(lab, state.plan)
            return exports.file_name(lab.name, str(state.plan), ending), downloads.zipped(lab, state.plan)
        link = f"{address}?{query_of(state, view.reading.prompt.read_chars)}"
        if ending == "html":
            return downloads.of_mask(view, link) if is_mask else downloads.of_head(view, link)
        of_layer = None if isinstance(seen, Trace) else (state.selection.kind, state.selection.layer)
        what = "all-heads" if of_layer is None else f"{of_layer[0]}-layer-{of_layer[1] + 1}"
        key = (lab.identity, seen.prompt, state.plan, ending, of_layer, link, texts.language())

        def make() -> bytes:
            with serving.aside():  # others draw meanwhile: a table of 128 tokens takes half a second
                return exports.content_of(ending, lab, seen.prompt, state.plan, of_layer, link)

        return exports.file_name(lab.name, what, ending), caches.files.get(key, make)


def library_route(prefix: str = "") -> Route:
    return Route(f"{prefix}/lab/library/{{name}}", receive_library, methods=["GET"])


async def receive_library(request: Request) -> Response:
    """Returns the library; status 404 if the address names another version than that of this server."""
    if request.path_params["name"] != library.address().rsplit("/", 1)[1]:
        return PlainTextResponse("Not found.", 404)
    # `identity` keeps Streamlit's middleware from compressing the response
    body, encoding = (compressed_library(), "gzip") if "gzip" in request.headers.get("accept-encoding", "") else \
        (library.source(), "identity")
    return Response(body, media_type="text/javascript", headers=LIBRARY_HEADERS | {"Content-Encoding": encoding})


@functools.cache
def compressed_library() -> bytes:
    return gzip.compress(library.source().encode(), 9, mtime=0)
