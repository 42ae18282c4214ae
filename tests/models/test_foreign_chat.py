"""Chat templates: the tokens equal transformers' own, the added tokens are marked, and a template is never trusted."""

import shutil
from pathlib import Path

import pytest
import transformers
from foreign_tiny import TEXT, folder_of, lab_of

import models
from app.state import visit
from app.state.link import read_query
from models.errors import InputError
from models.labs.foreign.errors import ForeignError
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening import child
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.reading import rendering
from tests.app.test_pages import opened, sent

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
    monkeypatch.setattr(rendering, "SECONDS", 3.0)

    def render(text: str) -> str | None:
        return rendering.in_child(template, {}, [{"role": "user", "content": text}])

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
