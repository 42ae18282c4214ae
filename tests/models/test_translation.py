"""Translation: held-out sentences, cleaning, reading of input sentences, batches, and BLEU with several references."""

import gzip
import math
import re
from pathlib import Path

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch.testing import assert_close

from models.errors import InputError
from models.nets.config import END, PADDING, START
from models.prompt import unix_lines
from models.tasks import TASKS, translation
from models.tasks.pairs import PairReader, as_batch, clean, first_of_each
from models.tasks.text_scores import bleu
from models.tasks.translation import LENGTH, LENGTHS

TASK = translation.TranslationReader()
READERS = [TASK, *(TASKS[name].build().reader for name in ("summary", "dialogue"))]
CORPUS = translation.TranslationCorpus(TASK)
SENTENCE = "The cat is sleeping."


# Reading of input texts.

def test_a_sentence():
    prompt = TASK.read(SENTENCE)
    assert prompt.tokens == ("start", " The", " cat", " is", " sleep", "ing", ".", "end")
    assert (prompt.ids[0], prompt.ids[-1]) == (START, END)
    assert prompt.tokens == tuple(TASK.labels[i] for i in prompt.ids)
    assert prompt.predict_at == () and set(prompt.targets) == {-1} and len(prompt.targets) == len(prompt.ids)
    assert (prompt.omitted, prompt.read_chars) == (0, len(SENTENCE))
    assert TASK.join(prompt.tokens[1:-1]) == TASK.written(prompt.ids) == SENTENCE


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@given(st.text(max_size=60))
@example("")
@example("\u200b\xad")
@example("a\ud83db")
@example("<|end|>")
def test_any_text_can_be_read(reader: PairReader, text: str):
    """Any text is read, or refused as empty. No text becomes a special token, and the tokens give the text again."""
    if not reader.clean(text):
        with pytest.raises(InputError, match=re.escape(reader.request)) as error:
            reader.read(text)
        assert (error.value.start, error.value.stop) == (0, len(text))
        return
    prompt = reader.read(text)
    assert 2 < len(prompt.ids) == len(prompt.tokens) <= reader.limit and min(prompt.ids[1:-1]) > PADDING
    if not prompt.omitted:
        assert reader.written(prompt.ids) == reader.clean(text).encode(errors="replace").decode()
        assert prompt.read_chars == len(unix_lines(text))


def test_a_long_text_is_cut():
    """A text is cut at the end of a word to 64 tokens including start and end. Omitted tokens are counted."""
    text = "the  cat " * 200
    prompt = TASK.read(text)
    assert len(prompt.ids) == LENGTH and prompt.ids[-1] == END and prompt.omitted == 400 - (LENGTH - 2)
    assert clean(text[:prompt.read_chars]) == clean("the cat " * 31)
    assert TASK.written(prompt.ids) == clean("the cat " * 31)


def test_cleaning():
    """Quotes become straight quotes, repeated spaces become one space, and invisible characters are removed."""
    assert clean(" „Komm!“,\xa0sagte\u202fer. ") == '"Komm!", sagte er.'
    assert clean("it’s ‘so’ «far»") == "it's 'so' \"far\""
    assert clean("so\xadfort\u200b \u2009 da") == "sofort da"
    assert clean("u\u0308ber") == "über"


def test_labels():
    assert len(TASK.labels) == TASK.vocabulary == TASK.tokenizer.get_vocab_size() == 4000
    assert TASK.labels[:3] == ("start", "end", "padding") and all(TASK.labels)
    for title, text in TASK.examples:
        assert title and TASK.written(TASK.read(text).ids) == text


# Splits.

@pytest.fixture(scope="module")
def pairs(data: Path) -> dict[str, list[tuple[str, str]]]:
    return translation.read_pairs(data)


def test_sizes(pairs: dict):
    sentences = {split: {text for text, _ in its} for split, its in pairs.items()}
    assert {split: len(its) for split, its in sentences.items()} == {"test": 2000, "validation": 1000, "train": 132_534}
    assert len(pairs["test"]) > 2400  # all translations of the test sentences belong to the test split


def test_no_sentence_is_in_two_splits(pairs: dict):
    """No sentence is in two splits, not even with other letter case or punctuation. No pair occurs twice."""
    keys = {split: {translation.split_key(text) for text, _ in its} for split, its in pairs.items()}
    assert not keys["train"] & keys["test"] and not keys["validation"] & (keys["train"] | keys["test"])
    assert all(len(its) == len(set(its)) for its in pairs.values())
    same, also, other = map(translation.split_key, ("Who's that?", "WHO'S THAT!", "Who is that?"))
    assert same == also != other


def test_the_split_is_by_the_sentence_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Not by other lines or their order; all translations of a sentence are in the same split."""
    monkeypatch.setattr("models.tasks.translation.TEST", 30)
    monkeypatch.setattr("models.tasks.translation.VALIDATION", 20)
    lines = [f"Sentence {i}.\tSatz {i}.{j}" for i in range(400) for j in range(1 + i % 2)]
    lines += ["Sentence 7!\tSatz 7!", "Sentence 8.\tSatz 8.0", "Sentence 9.\t\xad"]
    found = []
    for number, its in enumerate((lines, lines[::-1])):
        folder = tmp_path / str(number) / "tatoeba_deu_eng"
        folder.mkdir(parents=True)
        (folder / "deu.txt.gz").write_bytes(gzip.compress("\n".join(its).encode()))
        found.append(translation.read_pairs(tmp_path / str(number)))
    one, other = ({split: set(its) for split, its in splits.items()} for splits in found)
    assert one == other
    assert {len({text for text, _ in one[split]}) for split in ("test",)} == {30}
    assert sum(map(len, one.values())) == len(lines) - 2  # one line is a duplicate, and one has no German text
    where = [split for split, its in one.items() if any(translation.split_key(text) == "sentence 7" for text, _ in its)]
    assert len(where) == 1


def test_the_tokenizer_knows_training_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Letters of held-out pairs only are not in the vocabulary. The tokenizer is trained on both languages."""
    splits = {"train": [("the cat", "die Katze")] * 5, "validation": [("zyzzyva", "Zyzzyva")] * 9,
              "test": [("qoph", "Qoph")] * 9}
    monkeypatch.setattr("models.tasks.translation.read_pairs", lambda _: splits)
    vocabulary = translation.train_tokenizer(tmp_path).get_vocab()
    assert {"Ġthe", "ĠKatze"} <= set(vocabulary)
    assert not {token for token in vocabulary if "zy" in token or "op" in token}


def test_missing_data_is_reported(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="--data .* tatoeba_deu_eng"):
        translation.TranslationCorpus(TASK, tmp_path).pairs("test")


# Batches.

TOY = [(" ".join(["the cat"] * (1 + i % 5)) + f" {i}", " ".join(["die Katze"] * (1 + i % 7)) + f" {i}")
       for i in range(900)]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> translation.TranslationCorpus:
    """Returns the translation corpus on 900 pairs of several lengths."""
    monkeypatch.setattr(translation.TranslationCorpus, "pairs", lambda *_: TOY)
    return translation.TranslationCorpus(TASK, cache=tmp_path)


def test_a_pass_has_few_shapes_and_every_pair_once(toy: translation.TranslationCorpus):
    """An epoch has few batch shapes and contains every pair once, except remaining pairs that do not fill a batch."""
    tokens = CORPUS.step_tokens
    whole = [len(bucket) // (tokens // length) for length, bucket in zip(LENGTHS, toy._buckets, strict=True)]
    batches = [toy.batch(step, 100, seed=3) for step in range(sum(whole))]
    assert {(batch.tokens.shape, batch.texts.shape) for batch in batches} <= \
        {((tokens // length, length),) * 2 for length in LENGTHS}
    rows = [tuple(row) for batch in batches for row in torch.cat((batch.texts, batch.targets), 1).tolist()]
    assert len(rows) == len(set(rows)) > 300
    second = [toy.batch(step, 100, seed=3) for step in range(sum(whole), 2 * sum(whole))]
    assert any(a.texts.shape != b.texts.shape or not torch.equal(a.texts, b.texts)
               for a, b in zip(batches, second, strict=True))


def test_a_batch_is_decided_by_its_numbers(toy: translation.TranslationCorpus):
    """A batch depends only on its seed and step. It is the same from the token file and from the texts."""
    later = toy.batch(5, 100, seed=1)
    toy.batch(0, 100, seed=2)
    again = translation.TranslationCorpus(TASK, cache=toy._cache).batch(5, 100, seed=1)
    other = toy.batch(5, 100, seed=2)
    assert_close((again.texts, again.tokens, again.targets), (later.texts, later.tokens, later.targets))
    assert later.texts.shape != other.texts.shape or not torch.equal(later.texts, other.texts)


def test_what_encoder_and_decoder_read(toy: translation.TranslationCorpus):
    """The text between start and end token, and the target shifted by one position."""
    batch = toy.validation(4)[0]
    pairs = dict(TOY)
    for text, tokens, targets in zip(batch.texts.tolist(), batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        length = text.index(END)
        assert text[0] == START and set(text[length + 1:]) <= {PADDING}
        count = targets.index(END)
        assert tokens[0] == START and tokens[1:count + 1] == targets[:count]
        assert set(tokens[count + 1:]) <= {PADDING} and set(targets[count + 1:]) <= {-1}
        assert TASK.written(targets) == pairs[TASK.written(text)]


def test_validation_is_a_sentence_once(toy: translation.TranslationCorpus):
    pairs = [("a", "1"), ("a", "2"), ("b", "3"), ("a", "4")]
    assert first_of_each(pairs) == [("a", "1"), ("b", "3")]
    counts = [sum(len(batch.texts) for batch in toy.validation(times)) for times in (1, 2, 4, 9)]
    assert counts == [pytest.approx(225, abs=4), pytest.approx(450, abs=4), 900, 900]


def test_a_full_pair_fits(toy: translation.TranslationCorpus):
    """A pair of 64 tokens including start and end is kept; a longer pair is left out."""
    words = [("a " * n).strip() for n in (LENGTH - 2, LENGTH - 1)]
    assert [len(ids) for ids in (TASK.read(words[0]).ids, CORPUS.encode([(words[0], "b"), (words[1], "b")]))] == [64, 1]
    batch = as_batch(CORPUS.buckets([(words[0], words[0])])[-1], LENGTH)
    assert batch.texts[0, -1] == END and batch.targets[0, LENGTH - 2] == END and (batch.targets[0, :-1] >= 0).all()


def test_typical_texts_are_of_training_and_padded(toy: translation.TranslationCorpus):
    texts, targets = toy.typical(50)
    assert texts.shape == targets.shape == (50, LENGTH) and (texts[:, 0] == START).all()
    pairs = {(TASK.written(text), TASK.written(target)) for text, target in
            zip(texts.tolist(), targets.tolist(), strict=True)}
    assert pairs <= set(TOY) and len(pairs) == 50


# The metric.

def counted(found: list[str], references: list[list[str]]) -> float:
    """Computes BLEU for texts without punctuation (Papineni et al. 2002): clipped n-grams, nearest length."""
    matches, totals, length, best = [0] * 4, [0] * 4, 0, 0
    for text, its in zip(found, references, strict=True):
        words, theirs = text.split(), [one.split() for one in its]
        length += len(words)
        best += min((abs(len(one) - len(words)), len(one)) for one in theirs)[1]
        for n in range(1, 5):
            grams = [tuple(words[i:i + n]) for i in range(len(words) - n + 1)]
            totals[n - 1] += len(grams)
            for gram in set(grams):
                most = max(sum(tuple(one[i:i + n]) == gram for i in range(len(one))) for one in theirs)
                matches[n - 1] += min(grams.count(gram), most)
    mean = math.fsum(math.log(a / b) for a, b in zip(matches, totals, strict=True)) / 4
    return 100 * math.exp(mean + min(0, 1 - best / length))


def test_bleu_takes_all_references():
    found = ["der Hund läuft schnell durch den großen Park", "sie kennt ihn gut und er sie auch"]
    references = [["ein Hund läuft schnell durch den Park", "der Hund rennt schnell durch den großen Park", "kurz"],
                  ["sie kennt ihn gut und er sie"]]
    score, signature = bleu(found, references)
    assert score == pytest.approx(counted(found, references), abs=1e-6)
    assert score > bleu(found, [its[:1] for its in references])[0]
    assert bleu([its[0] for its in references], references)[0] == pytest.approx(100)
    assert "tok:13a" in signature and "version:" in signature and "nrefs:var" in signature


def test_the_metric_reads_every_sentence(monkeypatch: pytest.MonkeyPatch):
    """All references, with beam and greedy search; a perfect translator has BLEU 100."""
    pairs = {"a b c": ["eins zwei drei vier", "x"], "d": ["fünf sechs sieben acht"]}
    monkeypatch.setattr(translation.TranslationCorpus, "pairs",
                        lambda *_: [(a, b) for a, its in pairs.items() for b in its])
    beams = []

    def answers(self, model, texts, beam):
        beams.append(beam)
        return [pairs[text][0] if beam > 1 else "falsch " * 4 for text in texts]

    monkeypatch.setattr(translation.TranslationMetric, "translate", answers)
    metric = translation.TranslationMetric(CORPUS).evaluate(None)
    assert metric["bleu"] == 100 and metric["bleu_greedy"] < 1 and beams == [4, 1]
    assert (metric["sentences"], metric["references"], metric["beam"]) == (2, 3, 4) and list(metric)[0] == "bleu"
    assert metric["signature"].startswith("nrefs:")


def test_some_sentences_are_of_all_lengths(monkeypatch: pytest.MonkeyPatch):
    """The file is sorted by length, so its first sentences would be the easiest."""
    monkeypatch.setattr(translation.TranslationCorpus, "pairs", lambda *_: [(f"a {i // 2}", str(i)) for i in range(40)])
    texts, references = CORPUS.test(5)
    assert texts == ["a 0", "a 4", "a 8", "a 12", "a 16"] and references[1] == ["8", "9"]
    assert len(CORPUS.test()[0]) == len(CORPUS.test(99)[0]) == 20
