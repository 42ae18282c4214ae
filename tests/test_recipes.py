"""Each recipe in CONTRIBUTING.md is followed with a toy example in a copy of the repository."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.browser import ROOT

LEFT_OUT = {".git", ".venv", "runs", "node_modules", "build", "dist"}
LINKED = ("checkpoints", "measurements", "seed_metrics", "static", "data")  # folders that no recipe changes
HEADING = re.compile(r"^### (.+): (\d+) files?\b", re.MULTILINE)
PROMISED = {name: int(count) for name, count in HEADING.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))}

Change = Callable[[str], str]


def after(line: str, new: str) -> Change:
    """Returns a function that adds `new` after the only line that begins with `line`."""
    return lambda source: re.sub(rf"^({re.escape(line)}.*)$", lambda its: f"{its[0]}\n{new}", source, count=1,
                                 flags=re.MULTILINE)


def instead(old: str, new: str) -> Change:
    """Returns a function that replaces the only occurrence of `old` by `new`."""
    def change(source: str) -> str:
        assert source.count(old) == 1, old
        return source.replace(old, new)
    return change


def copied(folder: Path, changed: set[str]) -> None:
    """Makes a checkout with copies of the changed packages, and links to all other packages of this checkout."""
    for entry in ROOT.iterdir():
        if entry.name in LEFT_OUT:
            continue
        if entry.name not in changed:
            (folder / entry.name).symlink_to(entry)
            continue
        shutil.copytree(entry, folder / entry.name, ignore=shutil.ignore_patterns("__pycache__", *LINKED))
        for linked in (path for name in LINKED for path in entry.rglob(name) if path.is_dir()):
            (folder / linked.relative_to(ROOT)).symlink_to(linked)


def follow(folder: Path, files: Mapping[str, str | Change], *written: str) -> None:
    copied(folder, {name.split("/")[0] for name in files} | set(written))
    for name, change in files.items():
        path = folder / name
        if isinstance(change, str):
            assert not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(change, "utf-8")
        else:
            old = path.read_text("utf-8")
            assert change(old) != old, name
            path.write_text(change(old), "utf-8")


def run(folder: Path, *arguments: str) -> str:
    """Runs Python in the checkout and returns the standard output."""
    done = subprocess.run([sys.executable, "-W", "ignore", *arguments], cwd=folder, capture_output=True, text=True,
                          check=False, env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


ATTENTION = {
    "models/nets/attention/toy.py": '''
"""Toy attention: scores fall with the distance, by a learned slope for each head."""
import torch
from torch import Tensor, nn

from models.messages import N_
from models.nets.attention.base import OWN, Keys, Rotary, SelfAttention, Source
from models.nets.config import Config


class Slopes(Source):
    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.slope = nn.Parameter(0.1 + torch.rand(config.heads))

    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        place = torch.arange(keys.first + x.shape[1], device=x.device)
        return -self.slope[:, None, None] * (place[keys.first:, None] - place).abs()[None, None]


class Toy(SelfAttention):
    title = N_("Toy")
    label, colour, dash = N_("toy"), 6, 5
    line = N_("Near tokens get more attention.")
    formula = N_("A = softmax(-s |i - j|)")
    published = "a toy"
    source_type = Slopes
    reads_text = False
''',
    "models/nets/attention/__init__.py": lambda source: instead(
        '    "gau-log-n": GauLogN,\n', '    "gau-log-n": GauLogN,\n    "toy": Toy,\n')(
        after("from models.nets.attention.log_n", "from models.nets.attention.toy import Toy")(source)),
    "tests/models/oracles.py": instead(
        "SOURCES = {", '''def slopes(source, x: Tensor) -> Tensor:
    n = x.shape[1]
    rows = [[[-s * abs(i - j) for j in range(n)] for i in range(n)] for s in source.slope.tolist()]
    return torch.tensor(rows, dtype=torch.float64).expand(len(x), -1, -1, -1)


SOURCES = {"Slopes": slopes, '''),
}


def test_an_attention_type(tmp_path: Path):
    """The tests of attention types include the toy type, and fail if its formula is wrong."""
    assert len(ATTENTION) == PROMISED["An attention type"]
    follow(tmp_path, ATTENTION)
    tests = ("-m", "pytest", "-o", "addopts=", "-p", "no:cacheprovider", "-q", "tests/models/test_attention.py")
    assert re.search(r"\b([5-9]|\d\d+) passed", run(tmp_path, *tests, "-k", "toy"))
    path = tmp_path / "models/nets/attention/toy.py"
    path.write_text(path.read_text().replace(".abs()", ".abs() * 0.9"))
    with pytest.raises(AssertionError, match="test_scores_weights_and_outputs_are_those_of_the_formula.toy"):
        run(tmp_path, *tests, "-k", "toy")


TASK = {
    "models/tasks/toy.py": '''
"""Toy task: every letter comes twice, and the model predicts the second one."""
import torch

from models.messages import N_, message
from models.prompt import Prompt
from models.tasks.base import Batch, Corpus, Metric, Reader

LETTERS = "abcdefg"


class ToyReader(Reader):
    name, title = "toy", N_("Toy")
    vocabulary, limit, trained_length = 8, 16, 16
    labels = (message("start"), *LETTERS)
    examples = ((N_("Toy"), "aabbc"),)

    def read(self, text: str, limit: int | None = None) -> Prompt:
        ids = [0, *(LETTERS.index(letter) + 1 for letter in text if letter in LETTERS)][:limit or self.limit]
        return Prompt(tuple(ids), tuple(self.labels[i] for i in ids), (len(ids) - 1,), (*ids[1:], -1))


class ToyCorpus(Corpus):
    def batch(self, step: int, steps: int, seed: int) -> Batch:
        random = torch.Generator().manual_seed(1000 * seed + step)
        tokens = torch.randint(1, 8, (16, 8), generator=random).repeat_interleave(2, 1)
        targets = torch.full_like(tokens, -1)
        targets[:, ::2] = tokens[:, 1::2]
        return Batch(tokens, targets)

    def validation(self, times: int = 1) -> list[Batch]:
        return [self.batch(step, 0, 99) for step in range(times)]


class ToyMetric(Metric):
    def evaluate(self, model):
        batch = self.corpus.batch(0, 0, 98)
        known = batch.targets >= 0
        right = model.logits(model(batch.tokens)[known]).argmax(-1) == batch.targets[known]
        return {"accuracy": float(right.float().mean())}

    @staticmethod
    def describe(metric) -> str:
        return message("{share:.0%} right", share=metric["accuracy"])
''',
    "models/tasks/__init__.py": lambda source: instead(
        "    TaskParts(DialogueReader, DialogueCorpus, DialogueMetric))}",
        "    TaskParts(DialogueReader, DialogueCorpus, DialogueMetric), TaskParts(ToyReader, ToyCorpus, ToyMetric))}")(
        after("from models.tasks.summary import",
              "from models.tasks.toy import ToyCorpus, ToyMetric, ToyReader")(source)),
    "models/training/recipes.py": lambda source: instead(
        '"summary": _summary, "dialogue": _dialogue}', '"summary": _summary, "dialogue": _dialogue, "toy": _toy}')(
        instead('VARIANTS: dict[str, dict[str, Recipe]] = {\n',
                'VARIANTS: dict[str, dict[str, Recipe]] = {\n    "toy": {"softmax": _with("toy", "softmax")},\n')(
            instead('"summary": 800, "dialogue": 800}', '"summary": 800, "dialogue": 800, "toy": 60}')(
                instead("\n\ndef _with(", '''
_toy = replace(_assignment, steps=80, warmup=10, learning_rate=1e-2, config=Config(
    "", vocabulary=8, width=16, layers=1, heads=2, trained_length=16))


def _with(''')(source)))),
}


def test_a_task(tmp_path: Path):
    """The toy task has a tokenizer, a recipe, a sweep and a metric, and a short training learns it."""
    assert len(TASK) == PROMISED["A task"]
    follow(tmp_path, TASK)
    code = ("import torch; from pathlib import Path; from models.training import recipes, sweeps; "
            "from models.training.trainer import train; task = recipes.task_of('toy-softmax'); "
            "assert task.reader.read('aab').tokens[1:] == ('a', 'a', 'b') and not task.reader.lengths; "
            "assert sweeps.plan_of('toy') == sweeps.USUAL and recipes.short_recipe('toy-softmax').steps == 60; "
            "model = train(recipes.RECIPES['toy-softmax'], task.corpus, Path('runs/toy'), 0, torch.device('cpu')); "
            "print(task.metric.describe(task.metric.evaluate(model)))")
    assert run(tmp_path, "-c", code).strip() == "100% right"


PAGE = {
    "app/views/toy.py": '''
"""A toy page."""
from app.panels import frame
from app.texts import _
import streamlit as st


def page() -> None:
    frame.in_one_column(lambda: st.markdown(_("This page is a toy.")))
''',
    "app/state/lab_state.py": instead('"about": N_("Guide")', '"about": N_("Guide"), "toy": N_("Toy")'),
}


def test_a_page(tmp_path: Path):
    assert len(PAGE) == PROMISED["A page"]
    follow(tmp_path, PAGE)
    code = ('from streamlit.testing.v1 import AppTest; app = AppTest.from_file("app/main.py", default_timeout=60); '
            'app.query_params["page"] = "toy"; app.run(); assert not app.exception, app.exception; '
            'print([element.value for element in app.markdown])')
    assert "This page is a toy." in run(tmp_path, "-c", code)


SETTING = {
    "app/state/lab_state.py": after("    training: TrainingView", '    sorting: str = "verdict"'),
    "app/state/fields.py": after('    Field("claim"', '    Field("sort", "sorting", _one_of(("verdict", "source"))),'),
}


def test_a_pages_setting(tmp_path: Path):
    """The toy setting is part of a link, and a damaged link says so."""
    assert len(SETTING) == PROMISED["A page's setting"]
    follow(tmp_path, SETTING)
    code = ("from dataclasses import replace; from app.state.link import query_of, read_query; "
            "from app.state.lab_state import LabState; "
            "query = query_of(replace(LabState(), page='results', sorting='source')); "
            "print(query, read_query({'page': 'results', 'sort': 'sideways'})[1])")
    assert run(tmp_path, "-c", code).split(maxsplit=1) == [
        "page=results&sort=source", "['The link has an unknown setting, “sideways”.']\n"]


COMPONENT = {
    "components/toy/toy.js": '''
import { defineComponent } from '../runtime/component.js';
import { make } from '../widgets/dom.js';

const create = ({ root }) => ({ word: root.appendChild(make('p', {})) });

function update(state, { word }) {
  state.word.textContent = word;
}

export const toy = defineComponent({ create, update });
''',
    "components/toy/toy.css": "p { margin: 0; }\n",
}


def test_a_component(tmp_path: Path):
    """The library and the style sheets include the toy component, and Python can pack its payload."""
    assert len(COMPONENT) == PROMISED["A component"]
    follow(tmp_path, COMPONENT)
    code = ("from components.library import source; from components.payload import unpack; "
            "from components.mounting import Part; "
            "assert 'const create = ({ root }) => ({ word' in source() and 'p { margin: 0; }' in source(); "
            "print(unpack(Part('toy', 'one', {'word': '<b>'}).payload())[0]['word'])")
    assert run(tmp_path, "-c", code).strip() == "<b>"


CLAIM = {
    "studies/claims/sources/toy.py": '''
"""A toy claim."""
from models.messages import message
from studies.claims.evidence import Evidence
from studies.claims.contrast import decide
from studies.claims import Claim
from studies.claims import stated
from studies.claims.verdict import Estimate


def claim(evidence: Evidence) -> Claim:
    """Returns the claim with its judged statements."""
    cards = {name: evidence.card(f"stories-{name}")["metric"]["perplexity"] for name in ("softmax", "random")}
    statement = stated(
        "toy-better", message("{one:.1f} and {two:.1f}", one=cards["softmax"], two=cards["random"]),
        decide("toy-better", Estimate(cards["random"] - cards["softmax"], trainings=3), []), [], None,
        "python -m studies.claims")
    return Claim("toy", message("A toy"), "nobody", message("Nothing."), (), "stories", [statement])
''',
    "studies/statements/toy-better.toml": '''
text = "Softmax has the lower perplexity."
source = "no number"
basis = "our own question"
contrast = "Perplexity of random above that of softmax"
margin = 1
''',
    "studies/claims/__init__.py": instead('"disagreement", "gated")', '"disagreement", "gated", "toy")'),
}


def test_a_claim(tmp_path: Path):
    assert len(CLAIM) == PROMISED["A claim"]
    follow(tmp_path, CLAIM)
    code = ("from studies.claims.evidence import Evidence; from studies.claims.judge import judge_claim; "
            "claim = judge_claim('toy', Evidence()); print(claim.statements[0].verdict.word, claim.statements[0].ours)")
    printed = run(tmp_path, "-c", code)
    assert re.search(r"\d\d\.\d and \d\d\.\d", printed), printed


LANGUAGE = {"app/texts.py": instead('"zh": "中文"}', '"zh": "中文", "sv": "Svenska"}')}


def test_a_language(tmp_path: Path):
    """The command creates the catalogue, and strings without a translation are displayed in English."""
    assert len(LANGUAGE) == PROMISED["A language"]
    follow(tmp_path, LANGUAGE, "assets", "tools")
    run(tmp_path, "-m", "tools.extract")
    path = tmp_path / "assets/texts/sv/LC_MESSAGES/app.po"
    catalogue = path.read_text("utf-8").replace('msgid "Prune"\nmsgstr ""', 'msgid "Prune"\nmsgstr "Beskär"')
    path.write_text(catalogue, "utf-8")
    code = "from app import texts; texts.speak('sv'); print(texts._('Prune'), texts._('Explore'))"
    assert run(tmp_path, "-c", code).split() == ["Beskär", "Explore"]
