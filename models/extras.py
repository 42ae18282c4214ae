"""Optional dependencies: a package that is not installed is named with the command that installs it."""

from importlib.util import find_spec

# extra -> the modules that our code imports from its packages
MODULES = {"hf": ("transformers", "PIL"), "figures": ("altair", "plotly", "vl_convert", "pydantic"),
           "notebook": ("anywidget", "babel"), "study": ("pydantic", "nervaluate", "scipy", "sacrebleu", "rouge_score"),
           "app": ("streamlit", "pandas", "prometheus_client", "babel")}


class MissingExtraError(ImportError):
    """A package of an optional dependency is not installed; the message has the command that installs it."""


def need(extra: str) -> None:
    """Raises MissingExtraError if a module of an extra cannot be imported."""
    for name in MODULES[extra]:
        if find_spec(name) is None:
            package = "attention-lab" if __name__.startswith("attention_lab.") else "."  # a clone is on no index
            raise MissingExtraError(f"{name} is not installed: pip install '{package}[{extra}]'", name=name)
