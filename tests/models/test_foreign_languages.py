"""Translation models as published on the Hub: SentencePiece models with other ids, and a selectable language."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import transformers
from foreign_tiny import TEXTS, folder_of, lab_of
from transformers.convert_slow_tokenizer import import_protobuf

import models
from models import HeadPlan
from models.errors import InputError
from models.kind import TARGET
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening.folder import open_folder
from tests.models.foreign_architectures import WORDS

HIDDEN = "▁dog"  # a piece that vocab.json lacks


def split_tokenizer(folder: Path, file: str, codes: list[str]) -> dict[str, int]:
    """Writes the tokenizer as a SentencePiece model and a vocabulary whose ids have another order. Returns the
    vocabulary."""
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


def test_opus_reads_tokens_of_its_vocabulary(opus: tuple[ForeignLab, dict[str, int]]):
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


def test_opus_chooses_a_language_by_a_token(opus: tuple[ForeignLab, dict[str, int]]):
    lab, vocabulary = opus
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
    """The first output token is the selected language, also under a plan. The selection does not change the input
    tokens."""
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
