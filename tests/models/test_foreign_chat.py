"""Chat templates and translation models: tokens equal transformers' own, templates are not trusted."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import transformers
from foreign_tiny import TEXT, TEXTS, folder_of, lab_of
from transformers.convert_slow_tokenizer import import_protobuf

import models
from app.state import visit
from app.state.link import read_query
from models import HeadPlan
from models.errors import InputError
from models.kind import TARGET
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening import child
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.reading import templates
from models.labs.foreign.refusals import ForeignError
from tests.app.test_pages import opened, sent
from tests.models.foreign_architectures import WORDS

TEMPLATE = ("{{ '[CLS]' }}{% for message in messages %}{{ '<s>' + message['role'] + '\\n' + message['content'] | trim "
            "+ '[SEP]' }}{% endfor %}{% if add_generation_prompt %}{{ '<s>assistant\\n' }}{% endif %}")


def with_template(folder: Path, template: str, name: str = "gpt2") -> ForeignLab:
    shutil.copytree(folder_of(name), folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return open_folder(f"folder:{folder.name}", folder)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> ForeignLab:
    return with_template(tmp_path_factory.mktemp("chat") / "chat", TEMPLATE)


@pytest.mark.parametrize("text", [TEXT, "  two blanks around  ", "你好", "user", "assistant [MASK]"])
def test_tokens_are_those_of_transformers(lab: ForeignLab, text: str):
    prompt = lab.in_chat.read(text)
    tokenizer = transformers.AutoTokenizer.from_pretrained(lab.task.folder)
    expected = tokenizer.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True,
                                             return_dict=False)
    assert list(prompt.ids) == list(expected)
    own = [prompt.tokens[i] for i in range(len(prompt.ids)) if i not in prompt.template]
    assert lab.task.join(own) == text.strip() and prompt.tokens[0] == "[CLS]"
    assert 0 in prompt.template and prompt.predict_at == (len(prompt.ids) - 1,)
    assert prompt.omitted == 0 and not prompt.hint
    assert lab.read(text).template == ()


def test_a_long_text_keeps_the_end_of_the_template(lab: ForeignLab):
    short, long = lab.in_chat.read("a cat"), lab.in_chat.read("a cat and a dog " * 40)
    assert len(long.ids) == lab.limit and long.omitted
    assert long.ids[-12:] == short.ids[-12:] and 0 < long.read_chars < 640
    assert [long.ids[i] for i in long.template] == [short.ids[i] for i in short.template]


def test_the_results_are_those_of_the_whole_text(lab: ForeignLab):
    """The model in its template equals the model that reads the template as a text."""
    chat = lab.in_chat
    assert chat is lab.in_chat and chat.identity == lab.identity and chat.in_chat is chat
    prompt = chat.read("the cat sat")
    whole = lab.task.join(prompt.tokens)
    assert lab.read(whole).ids == prompt.ids
    assert (models.run(chat, "the cat sat").losses[:-1] == models.run(lab, whole).losses[:-1]).all()
    assert "".join(chat.generate(prompt, count=3)) == "".join(lab.generate(lab.read(whole), count=3))


def test_models_without_a_template():
    assert not lab_of("gpt2").task.chats and lab_of("gpt2").in_chat is lab_of("gpt2")
    assert lab_of("bert").in_chat is lab_of("bert") and not models.load("stories-softmax").task.chats


@pytest.mark.parametrize("template", [
    "{{ messages[0].__class__.__mro__[1].__subclasses__() }}", "{{ raise_exception('no') }}", "no message", "{% if %}",
    "{{ 'x' * 99999999 }}{{ messages[0]['content'] }}"])
def test_a_bad_template_is_none(tmp_path: Path, template: str):
    lab = with_template(tmp_path / "bad", template)
    assert not lab.task.chats and lab.in_chat is lab
    assert models.run(lab, TEXT).tokens


def test_a_template_that_fails_on_a_text(tmp_path: Path):
    template = ("{% if 'dog' in messages[0]['content'] %}{{ raise_exception('no') }}{% endif %}"
                "{{ messages[0]['content'] | replace('cat', 'CAT') }}")
    lab = with_template(tmp_path / "some", template).in_chat
    with pytest.raises(InputError, match="fails on this text"):
        lab.read("the dog")
    with pytest.raises(InputError, match="changes this text"):
        lab.read("the cat")


def test_a_template_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{{ messages[0]['content'] }}"
    folder = Path(shutil.copytree(folder_of("gpt2"), tmp_path / "loop"))
    (folder / "chat_template.jinja").write_text(loops)
    monkeypatch.setattr(child, "PROCESSOR_SECONDS", 6)
    with pytest.raises(ForeignError, match="chat_template.jinja takes more than 6 s"):
        child.inspect(folder, folder)


@pytest.mark.parametrize("bad", [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% set n = namespace(t='x' * 999) %}{% for a in range(30) %}{% set n.t = n.t ~ n.t %}{% endfor %}"])
def test_a_template_that_needs_too_much_for_some_texts_fails_for_these(bad: str, monkeypatch: pytest.MonkeyPatch):
    """The child ends, this process goes on, and the next text is rendered by a new child."""
    template = "{% if 'dog' in messages[0]['content'] %}" + bad + "{% endif %}{{ messages[0]['content'] }}"
    monkeypatch.setattr(templates, "SECONDS", 3.0)

    def render(text: str) -> str | None:
        return templates.in_child(template, {}, [{"role": "user", "content": text}])

    assert [render("a cat"), render("a dog"), render("a cat")] == ["a cat", None, "a cat"]


def test_the_switch_is_in_the_link(lab: ForeignLab):
    models.load_folder(lab.task.folder)
    app = opened(model="folder:chat", text="the cat sat ")
    now = app.session_state["visit"]
    names = [action["name"] for action in sent(app, "lab")[0]["notice"]["actions"]]
    assert names == ["trim", "chat"]

    def press(name: str) -> None:
        with visit.use(now):
            now.channel.receive([("lab", {"type": "notice", "name": name, "sequence": now.channel.newest + 1})])
        app.run()

    press("trim")
    assert now.history.present.text == "the cat sat"
    press("chat")
    assert now.history.present.chat and "chat=1" in sent(app, "bar")[0]["query"]
    (action,) = sent(app, "lab")[0]["notice"]["actions"]
    shown = sent(app, "lab")[0]
    assert action["pressed"] and shown["template"]
    assert len(shown["tokens"]["text"]) == len(lab.in_chat.read("the cat sat").ids)
    press("forged")
    press("chat")
    assert not now.history.present.chat and not sent(app, "lab")[0]["template"]
    state, problems = read_query({"model": "stories-softmax", "chat": "1"})
    assert not state.chat and problems


HIDDEN = "▁dog"  # a piece that vocab.json lacks


def split_tokenizer(folder: Path, file: str, codes: list[str]) -> dict[str, int]:
    """Writes a SentencePiece model and a vocabulary with ids in another order, which it returns."""
    words = sorted({"▁" + word for text in TEXTS for word in re.findall(r"\w+", text)})
    characters = sorted({"▁", *"".join(TEXTS)} - {" "})
    model = import_protobuf().ModelProto()
    for piece in ["<unk>", *words, *characters]:
        model.pieces.add(piece=piece, score=-len(piece) ** 0.5, type=2 if piece == "<unk>" else 1)
    model.trainer_spec.model_type, model.trainer_spec.unk_id = 1, 0
    (folder / file).write_bytes(model.SerializeToString())
    known = sorted(set(words + characters) - {HIDDEN}, reverse=True)
    vocabulary = {piece: i for i, piece in enumerate(["<pad>", "<unk>", "</s>", *codes, *known])}
    assert len(vocabulary) <= WORDS["pieces"]
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    for path in folder.glob("tokenizer*"):
        path.unlink()
    return vocabulary


@pytest.fixture
def opus(tmp_path: Path) -> tuple[ForeignLab, dict[str, int]]:
    """Returns a Marian model with source.spm and vocab.json, and the vocabulary of this model."""
    folder = Path(shutil.copytree(folder_of("marian"), tmp_path / "opus"))
    vocabulary = split_tokenizer(folder, "source.spm", [">>fra<<", ">>deu<<"])
    return open_folder("folder:opus", folder), vocabulary


def test_opus_reads_tokens_of_its_vocabulary_and_of_languages(opus: tuple[ForeignLab, dict[str, int]]):
    """A piece that the vocabulary lacks becomes the unknown token. The positions of all tokens are right."""
    lab, vocabulary = opus
    prompt = lab.read("The cat saw a dog.")
    assert [prompt.ids[-1], prompt.ids[0]] == [vocabulary["</s>"], vocabulary["▁The"]]
    assert prompt.ids[-3] == vocabulary["<unk>"] and prompt.tokens[:2] == (" The", " cat")
    encoded = lab.task.encode("The  cat sat")
    words = [encoded.text[start:stop].strip() for start, stop in zip(encoded.starts, encoded.stops, strict=True)]
    assert "".join(words) == "Thecatsat" and encoded.body == (0, len(encoded.ids) - 1)
    for text in TEXTS:
        assert lab.task.wrote([i for i in lab.read(text).ids if i != 1]) == re.sub(r" dog\b", "", text)
    models.run(lab, TEXTS[0])
    prompt = lab.read(">>deu<< The cat")
    assert prompt.ids[0] == vocabulary[">>deu<<"] and prompt.tokens[0] == ">>deu<<" and not prompt.hint
    assert ">>deu<<" in lab.read("The cat").hint and "fra" in lab.read("The cat").hint
    with pytest.raises(InputError, match="no language “xyz”"):
        lab.read(">>xyz<< The cat")
    assert {text[:7] for _, text in lab.task.examples} == {">>fra<<", ">>deu<<"}


def resized(folder: Path, rows: int) -> ForeignLab:
    """Gives the model of a folder this number of rows in its embedding, and opens it."""
    model: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    model.resize_token_embeddings(rows)
    model.save_pretrained(folder)
    return open_folder(f"folder:{folder.name}", folder)


@pytest.fixture(params=["split", "fast"])
def m2m(request: pytest.FixtureRequest, tmp_path: Path) -> ForeignLab:
    """Returns an M2M100 model with either type of tokenizer."""
    folder = Path(shutil.copytree(folder_of("m2m_100"), tmp_path / "m2m"))
    if request.param == "fast":
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        tokenizer.add_special_tokens({"extra_special_tokens": ["__en__", "__fr__", "__de__"]})
        tokenizer.backend_tokenizer.post_processor = transformers.AutoTokenizer.from_pretrained(
            folder).backend_tokenizer.post_processor
        tokenizer.save_pretrained(folder)
        return resized(folder, len(tokenizer))
    return resized(folder, 100 + len(split_tokenizer(folder, "sentencepiece.bpe.model", [])))


def test_a_choice_of_language_is_the_first_token_that_is_written(m2m: ForeignLab):
    """Also under a plan; the input tokens are unchanged."""
    codes = m2m.task.languages.ids
    assert {"en", "fr", "de"} <= set(codes)
    plain, chosen = m2m.read("The cat sat."), m2m.read(" >>fr<< The cat sat.")
    assert plain.ids == chosen.ids and ">>" in plain.hint and not chosen.hint
    assert chosen.read_chars == len(" >>fr<< The cat sat.")
    trace = models.run(m2m, ">>fr<< The cat sat.")
    assert trace.rows[TARGET][1] == "__fr__" and trace.outputs[0].target == codes["fr"]
    assert models.run(m2m, ">>de<< The cat sat.").rows[TARGET][1] == "__de__"
    plan = HeadPlan().gate("encoder", 0, 0, 0.0)
    anchored = m2m.anchored(m2m.read(">>fr<< The cat sat."))
    assert anchored.target[1] == codes["fr"]
    assert m2m.task.first_token(anchored, None) == codes["fr"] and isinstance(m2m.rewrite(anchored, plan), str)
    with pytest.raises(InputError, match="no language"):
        m2m.read(">>xx<< The cat")


@pytest.mark.parametrize("m2m", ["split"], indirect=True)
def test_a_choice_of_the_source_replaces_its_token(m2m: ForeignLab):
    english, german = m2m.read(">>fr<< The cat"), m2m.read(">>de-fr<< The cat")
    assert english.tokens[0] == "__en__" and german.tokens[0] == "__de__" and english.ids[1:] == german.ids[1:]


@pytest.mark.parametrize("is_added", [True, False])
def test_madlad_chooses_a_language_by_its_own_token(is_added: bool, tmp_path: Path):
    """Its tokens `<2fr>` are added tokens, or pieces of the vocabulary."""
    folder = Path(shutil.copytree(folder_of("t5"), tmp_path / "madlad"))
    codes = ["<2de>", "<2fr>", "<2pt_BR>"]
    if is_added:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        tokenizer.add_tokens(codes)
        tokenizer.save_pretrained(folder)
    else:
        content = json.loads((folder / "tokenizer.json").read_text())
        content["model"]["vocab"] += [[code, 0.0] for code in codes]
        (folder / "tokenizer.json").write_text(json.dumps(content))
    lab = resized(folder, WORDS["pieces"] + len(codes))
    assert set(lab.task.languages.ids) == {"de", "fr", "pt_BR"}
    assert "like <2de>; the model has de, fr, pt_BR" in lab.read("The cat").hint
    prompt = lab.read("<2pt_BR> The cat")
    assert lab.task.languages.ids["pt_BR"] in prompt.ids and not prompt.hint
    assert [text[:5] for _, text in lab.task.examples] == ["<2fr>", "<2de>"]
    with pytest.raises(InputError, match="no language “xx”"):
        lab.read("<2xx> The cat")


def test_a_model_without_languages_reads_brackets_as_text():
    lab = lab_of("t5")
    assert not lab.task.languages and len(lab.read(">>fr<< The cat").ids) > len(lab.read("The cat").ids)
