"""Heads of a story model in marimo: `marimo run docs/notebooks/heads_marimo.py`; `marimo edit` opens the cells."""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    import attention_lab as al
    return al, mo


@app.cell
def _(al, mo):
    lab = al.load("stories-softmax")
    widget = al.show(lab, "Once upon a time there was a little dragon.")
    get_plan, set_plan = mo.state(widget.plan)
    widget.observe(lambda change: set_plan(change.new), "plan")  # cells that call get_plan run again after a change
    widget  # noqa: B018  # marimo shows the last expression of a cell
    return get_plan, widget


@app.cell
def _(get_plan, mo, widget):
    mo.md(f"Plan: `{get_plan() or 'baseline'}`. Most probable next token: `{widget.trace.output.labels[0]}`")
    return


if __name__ == "__main__":
    app.run()
