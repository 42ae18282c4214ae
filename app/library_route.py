"""The route of the component library: one file that browsers cache, because its address changes with its content.

    GET {base}/lab/library/VERSION.js
"""

import functools
import gzip

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from components.library import address, source

HEADERS = {"Vary": "Accept-Encoding", "Cache-Control": "public, max-age=31536000, immutable"}


def route(prefix: str = "") -> Route:
    return Route(f"{prefix}/lab/library/{{name}}", receive, methods=["GET"])


async def receive(request: Request) -> Response:
    """Returns the library; status 404 if the address names another version than that of this server."""
    if request.path_params["name"] != address().rsplit("/", 1)[1]:
        return PlainTextResponse("Not found.", 404)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(compressed(), media_type="text/javascript", headers=HEADERS | {"Content-Encoding": "gzip"})
    # `identity` keeps Streamlit's middleware from compressing the response
    return Response(source(), media_type="text/javascript", headers=HEADERS | {"Content-Encoding": "identity"})


@functools.cache
def compressed() -> bytes:
    """Returns the library, compressed with gzip."""
    return gzip.compress(source().encode(), 9, mtime=0)
