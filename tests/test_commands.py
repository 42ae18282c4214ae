"""The commands `models`, `run`, `lens`, `contributions` and `learn`, and the same functions as tools over stdio."""

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from mcp import Client, StdioServerParameters

import models
from app.server.limits import DOWNLOADS
from app.state.link import FIRST_LAB
from attention_lab import learn
from attention_lab.__main__ import main
from models import HeadPlan
from tests.own_loop import run

ROOT = Path(__file__).parents[1]
MODEL, TEXT, PLAN = "stories-selective", FIRST_LAB["text"], "self-2.0~7g0"
TOOLS = {"models", "run", "lens", "contributions", "learn"}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Returns the JSON that a command prints."""
    main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_a_text_on_stdin_turns_its_answer_under_the_plan(capsys, monkeypatch):
    # a line break as `echo` and Windows end a text, which is no part of it
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TEXT.encode() + b"\r\n")))
    result = printed(capsys, "run", MODEL, "-", "--plan", PLAN)
    assert [its[0]["label"] for its in result["unmodified"]["predictions"]] == [" ball"]
    assert [its[0]["label"] for its in result["predictions"]] == [" friends"]
    before, after = (models.run(models.load(MODEL), TEXT, HeadPlan.parse(plan)) for plan in ("", PLAN))
    p, q = (trace.output.distribution.astype(float) for trace in (before, after))
    assert result["kl"] == [pytest.approx((p * numpy.log(p / q)).sum(), abs=1e-5)]
    assert result["unmodified"]["loss"] == pytest.approx(before.loss, abs=1e-5)
    assert result["loss"] == pytest.approx(after.loss, abs=1e-5)
    assert result["tokens"] == {"text": after.tokens} and result["omitted"] == 0


def test_a_translation_is_printed_without_and_under_the_plan(capsys):
    main(["run", "translation-softmax", "The cat is sleeping.", "--plan", "cross-0.0~7g0-1.0~7g0-2.0~7g0"])
    lab, plan = models.load("translation-softmax"), HeadPlan.parse("cross-0.0~7g0-1.0~7g0-2.0~7g0")
    words = capsys.readouterr().out.splitlines()
    assert f"output: {models.run(lab, 'The cat is sleeping.').written}" in words
    assert f"output under the plan: {models.run(lab, 'The cat is sleeping.', plan).written}" in words


def test_a_training_is_printed_while_it_runs(capsys):
    main(["learn", "count", "--layers", "1", "--heads", "2", "--steps", "3", "--plan", "self-0.1c"])
    words = capsys.readouterr().out.splitlines()
    result = printed(capsys, "learn", "count", "--layers", "1", "--heads", "2", "--steps", "3", "--plan", "self-0.1c")
    moments = list(learn("count", layers=1, heads=2, steps=3, plan=HeadPlan().constant("self", 0, 1)))
    assert result["recipe"] == "count.softmax.1x2.0.3.self-0.1c" and words[0].startswith(result["recipe"])
    assert result["moments"] == [{"step": m.step, "loss": m.loss, "accuracy": m.accuracy} for m in moments]
    assert [line.split()[1] for line in words[1:]] == ["0", "1", "2", "3"] and f"{moments[-1].loss:.4f}" in words[-1]


@pytest.mark.parametrize("arguments", [["cook"], ["count", "--layers", "999"], ["count", "--plan", "self-0.9c"],
                                       ["count", "--attention", "gau-relu2"], ["count", "--plan", "x"]])
def test_a_training_that_cannot_be_is_one_sentence(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(["learn", *arguments])
    assert stop.value.code == 2 and len(capsys.readouterr().err.splitlines()) == 1


def test_the_last_layer_of_the_lens_is_the_prediction(capsys):
    result = printed(capsys, "lens", MODEL, TEXT, "--plan", PLAN)
    output = models.run(models.load(MODEL), TEXT, HeadPlan.parse(PLAN)).output
    assert len(result["layers"]) == 5 and result["position"] == len(result["tokens"]) - 1
    last = result["layers"][-1]
    assert [its["label"] for its in last["top"]] == output.labels[:5]
    assert last["final"] == pytest.approx(float(output.probabilities[0]), abs=1e-5)
    assert result["layers"][result["first"]]["top"][0]["label"] == output.labels[0]
    assert printed(capsys, "lens", MODEL, TEXT, "--position", "5")["tokens"][5] == " red"


def test_the_contributions_of_heads_and_parts_sum_to_the_difference_of_two_logits(capsys):
    result = printed(capsys, "contributions", MODEL, TEXT, "--token", " ball", "--against", " friends")
    parts = sum(map(sum, result["heads"]["self"])) + sum(result["rest"].values())
    output = models.run(models.load(MODEL), TEXT).output
    ratio = numpy.log([output.distribution[output.names.index(name)] for name in (" ball", " friends")])
    assert parts == pytest.approx(result["total"], abs=1e-3)
    assert result["total"] == pytest.approx(ratio[0] - ratio[1], abs=1e-3)


@pytest.mark.parametrize(("arguments", "reason"), [
    (["run", "stories-none", TEXT], "no model is called 'stories-none'"),
    (["run", MODEL], "the following arguments are required: TEXT"),
    (["run", MODEL, TEXT, "--plan", "nonsense"], "“nonsense” names no group of heads"),
    (["run", MODEL, TEXT, "--plan", "self-9.0g0"], "no layer 10"),
    (["run", "./no/such/folder", TEXT], "there is no such folder"),
    (["run", "assignment-softmax", "no assignment"], "“no” is no variable"),
    (["lens", MODEL, TEXT, "--position", "900"], "no position 900 among 23 tokens"),
    (["lens", "masked-softmax", "The [cat] sleeps.", "--position", "0"], "there is no prediction at position 0"),
    (["contributions", MODEL, TEXT, "--token", "ball"], "“ ball” is"),
    (["nothing"], "invalid choice: 'nothing'")])
def test_bad_input_is_one_sentence_on_stderr_with_status_2(arguments: list[str], reason: str, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    assert ended.value.code == 2 and not out and err.count("\n") == 1
    assert err.startswith("attention-lab") and reason in err


def test_control_characters_of_a_text_do_not_reach_the_terminal(capsys):
    for command in ("run", "lens", "contributions"):
        main([command, MODEL, "Tom \x1b[2J had \x07 a\nball"])
        out = capsys.readouterr().out
        assert not {"\x1b", "\x07"} & {*out}


def test_the_example_of_the_documents_prints_what_they_say(capsys, monkeypatch):
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    (command, expected), = re.findall(r"```console\n\$ (.*?)\n(.*?)```", page, re.DOTALL)
    text, arguments = re.fullmatch(r"printf '(.*)' \| attention-lab (.*)", command).groups()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    main(arguments.split())
    assert capsys.readouterr().out == expected


def test_the_text_output_lists_every_model(capsys):
    main(["models"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == models.names()


def test_an_agent_calls_the_same_functions_over_stdio_within_the_limits_of_a_visit(capsys):
    expected = printed(capsys, "run", MODEL, TEXT, "--plan", PLAN)

    async def talk() -> None:
        async with Client(StdioServerParameters(command=sys.executable, args=["-m", "attention_lab", "mcp"],
                                                cwd=ROOT)) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)

            async def call(name: str, **arguments: Any) -> Any:
                result = await client.call_tool(name, arguments)
                return result.content[0].text if result.is_error else result.structured_content

            assert await call("run", model=MODEL, text=TEXT, plan=PLAN) == expected
            assert (await call("lens", model=MODEL, text=TEXT))["layers"][-1]["top"][0]["label"] == " ball"
            assert (await call("contributions", model=MODEL, text=TEXT))["token"] == " ball"
            learned = await call("learn", task="count", layers=1, heads=2, steps=2, plan="self-0.1c")
            assert learned == printed(capsys, "learn", "count", "--layers", "1", "--heads", "2", "--steps", "2",
                                      "--plan", "self-0.1c")
            assert "1 to 3 layers" in await call("learn", task="count", layers=999)
            listed = await call("models")
            assert [its["name"] for its in listed["models"]] == models.names()
            assert "hf:openai-community/gpt2" in listed["hub"]
            cut = await call("run", model=MODEL, text="Tom " * 100_000)
            assert len(cut["tokens"]["text"]) == 128 and cut["omitted"] > 0
            assert "this host opens no folders" in await call("run", model="./assets", text=TEXT)
            assert "names no group of heads" in await call("run", model=MODEL, text=TEXT, plan="nonsense")
            refusals = [await call("run", model="hf:someone/else", text=TEXT) for _ in range(DOWNLOADS.visit + 1)]
            assert all("this host does not open" in its for its in refusals[:-1])
            assert "requests to the Hub" in refusals[-1]

    run(talk())


def test_mcp_names_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "attention_lab.agents", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["mcp"])
    assert "pip install 'attention-lab[mcp]'" in str(ended.value.code)
