"""Writes Vega, Vega-Lite and Vega-Embed as one script for the browser: `python -m tools.vega`.

The package vl-convert-python contains the libraries, so nothing is downloaded. Vega-Embed uses Vega's expression
interpreter, which works under a Content-Security-Policy without 'unsafe-eval'. Streamlit serves app/static.
"""

from pathlib import Path

import vl_convert

from figures.export import FOLDER, script_path

SNIPPET = "globalThis.attentionLabVega = { vegaEmbed };"
LICENCE = "/* Vega, Vega-Lite, Vega-Embed and D3, from vl-convert-python {version}: BSD-3-Clause and ISC licences. */\n"


def script() -> str:
    """Returns the script, which sets `globalThis.attentionLabVega`."""
    return LICENCE.format(version=vl_convert.__version__) + vl_convert.javascript_bundle(SNIPPET)


def main() -> None:
    """Writes the script, and removes scripts of other versions."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    target: Path = script_path(vl_convert.get_vega_version())
    for old in FOLDER.glob("vega-*.js"):
        old.unlink()
    target.write_text(script(), "utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
