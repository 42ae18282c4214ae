"""Models of the visitor in a real browser: folders of foreign models, and folders that cannot be opened."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import transformers
from playwright.sync_api import Browser, Page, expect

import models
from tests.browser import serve
from tests.e2e.app_page import linked, notice, query, tile, view
from tests.models.foreign_tiny import TEXTS, folder_of, picture

pytestmark = pytest.mark.browser

LOADED = 30_000  # timeout in ms; opening the first model imports transformers


def ask_for(page: Page, folder: Path | str) -> None:
    """Enters a folder in the field of the page Models and presses Enter."""
    box = page.get_by_label("Name or address on the Hub, or a folder", exact=True)
    box.fill(str(folder))
    box.press("Enter")


def open_folder(visit, folder: Path, heads: int) -> Page:
    """Opens this model in a new session, and returns the page Lab."""
    page = visit(page="yours", wait=False)
    ask_for(page, folder)
    page.wait_for_function("name => new URLSearchParams(location.search).get('model') === name",
                           arg=f"folder:{folder.name}", timeout=LOADED)
    expect(page.locator(".tile")).to_have_count(heads, timeout=LOADED)
    return page


def test_a_real_encoder_is_pruned_made_constant_and_linked_to(visit, minilm: Path):
    page = open_folder(visit, minilm, 72)
    tile(page, 1, 4).click()
    expect(page.locator(".side .segment").get_by_role("button", name="Constant")).to_have_attribute(
        "title", "There are no constant matrices yet.")
    page.keyboard.press("c")  # the model has no constant matrices, so the key has no effect
    page.keyboard.press("p")
    linked(page, "plan", "self-1.4g0")
    expect(page.locator(".answer .vector")).to_contain_text(re.compile(r"moved by <?\d"))

    page.get_by_role("link", name="Models", exact=True).first.click()
    page.get_by_text("Pasted text", exact=True).click()
    box = page.get_by_label("One text per paragraph")
    box.fill("\n\n".join(TEXTS))
    box.press("Control+Enter")
    page.get_by_role("button", name="Make constant matrices").click()
    expect(page.get_by_text("The matrices are ready")).to_be_visible(timeout=LOADED)
    page.get_by_role("button", name="Open in the lab").click()
    tile(page, 2, 0).click()
    page.keyboard.press("c")
    expect(tile(page, 2, 0)).to_have_class(re.compile("constant"))
    linked(page, "plan", "self-1.4g0-2.0c")

    other = visit(**query(page))  # in another session the model has no constant matrices
    expect(tile(other, 1, 4)).to_have_class(re.compile("pruned"))
    expect(tile(other, 2, 0)).not_to_have_class(re.compile("constant"))
    expect(notice(other)).to_contain_text("no constant matrices yet")
    assert query(other) == query(page)


def test_a_model_that_rewrites_has_three_grids_and_shows_what_it_wrote(visit):
    page = open_folder(visit, folder_of("bart"), 2 * 4 + 3 * 2 + 3 * 2)
    for kind in ("Encoder", "Decoder self-attention", "Cross-attention"):
        expect(page.get_by_role("group", name=f"Layer 1, {kind}", exact=True)).to_be_visible()
    cross = page.get_by_role("button", name=re.compile("^Cross-attention, Layer 2, head 1,"))
    expect(page.locator(".caption")).to_contain_text("It writes")
    cross.click()
    page.keyboard.press("p")
    linked(page, "plan", "cross-1.0g0")
    expect(page.locator(".side h2")).to_contain_text("Cross-attention · Layer 2, head 1")
    other = visit(**query(page))
    expect(other.get_by_role("button", name="Cross-attention, Layer 2, head 1, pruned")).to_have_attribute(
        "aria-pressed", "true")


def test_a_vision_model_reads_an_uploaded_picture(visit, tmp_path: Path):
    page = open_folder(visit, folder_of("vit"), 8)
    patches = page.locator(".words.patches")
    shown = "its => getComputedStyle(its).getPropertyValue('--picture')"
    expect(patches.locator(".patch").first).to_be_visible()
    example = patches.evaluate(shown)
    beside, share = (page.locator(part).bounding_box() for part in (".patches", ".answer .big"))
    assert beside and share and share["x"] <= beside["x"] + beside["width"] - share["width"]  # both in the window
    assert beside["y"] + beside["height"] <= page.locator(".strip").bounding_box()["y"]
    (tmp_path / "mine.png").write_bytes(picture(7, 64, 48))
    page.locator('input[type="file"]').set_input_files(tmp_path / "mine.png")
    expect(patches).not_to_have_css("--picture", example)
    tints = [its.evaluate("its => its.style.getPropertyValue('--tint')") for its in patches.locator(".patch").all()]
    assert len(set(tints)) > 1
    patches.locator(".patch").nth(1).click()
    expect(patches.locator(".patch").nth(1)).to_have_attribute("aria-pressed", "true")
    mine = patches.evaluate(shown)
    (tmp_path / "text.png").write_text("This is no picture.")
    page.locator('input[type="file"]').set_input_files(tmp_path / "text.png")
    expect(page.locator('[data-part="lab"]')).to_contain_text("not a readable picture")
    expect(patches).to_have_css("--picture", mine)


def test_what_is_no_model_is_refused_in_words(visit, tmp_path: Path):
    (tmp_path / "nothing").mkdir()
    shutil.copytree(folder_of("bert"), tmp_path / "pickled", ignore=shutil.ignore_patterns("*.safetensors"))
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    page = visit(page="yours", wait=False)
    missing = "There is no such folder"
    for folder, message in ((tmp_path / "missing", missing), (tmp_path / "nothing", "no config"),
                         ("./" + "x" * 300, missing), (tmp_path / "pickled", "are a pickle file"),
                         ("~nobody-of-this-name", missing)):
        ask_for(page, folder)
        expect(page.get_by_role("alert")).to_contain_text(message, ignore_case=True, timeout=LOADED)
        expect(page.get_by_role("button", name="Open", exact=True)).to_be_visible()
        expect(page.locator('[aria-describedby="help"]')).to_be_focused()
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    page.get_by_role("link", name="Lab", exact=True).click()
    expect(page.locator('[data-part="lab"] .tile')).to_have_count(32)


@pytest.fixture(scope="module")
def hosted() -> Iterator[str]:
    """Yields the address of the app in hosted mode."""
    with serve(ATTENTION_LAB_HOSTED="1") as address:
        yield address


def test_a_host_opens_no_folder_and_only_what_it_allows(browser: Browser, hosted: str):
    page = browser.new_page(bypass_csp=True)
    page.goto(f"{hosted}/?model=hf:somebody/else&plan=self-0.0c&text=abc")
    box = page.get_by_label("Name or address on the Hub", exact=True)
    expect(box).to_have_value("somebody/else", timeout=LOADED)
    refused = re.compile("this host does not open “?somebody/else", re.IGNORECASE)
    expect(page.locator(".problems")).to_contain_text(refused)
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text(refused)
    for name in ("openai-community/gpt2", "google-bert/bert-base-uncased"):
        page.get_by_role("button", name=name.partition("/")[2], exact=True).click()
        expect(box).to_have_value(name)
        expect(page.get_by_role("button", pressed=True)).to_have_text(name.partition("/")[2])
    box.fill(str(folder_of("bert")))
    box.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("is no model id")
    expect(page.get_by_role("button", name="Load", exact=True)).to_have_count(0)
    page.goto(f"{hosted}/?model=folder:model")
    expect(page.locator(".problems")).to_contain_text("Open the folder again")
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    page.close()


def test_a_pruned_model_is_downloaded_and_opens_in_plain_transformers(visit, tmp_path: Path):
    page = open_folder(visit, folder_of("llama"), 8)
    for head in (0, 1):
        tile(page, 0, head).click()
        page.keyboard.press("p")
    linked(page, "plan", "self-0.0~1g0")
    page.locator('.tools [data-key="head.get"]').click()
    button = view(page).get_by_role("button", name="Model for transformers (ZIP)")
    with page.expect_download() as download:
        button.click()
    download.value.save_as(tmp_path / "model.zip")
    assert download.value.suggested_filename == "attention-lab_folder-llama_self-0-0-1g0.zip"
    shutil.unpack_archive(tmp_path / "model.zip", tmp_path / "model")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    lab, plan = models.load_folder(folder_of("llama")), models.HeadPlan.parse("self-0.0~1g0")
    trace = models.run(lab, TEXTS[0], plan)
    logits = model(**tokenizer(TEXTS[0], return_tensors="pt")).logits[0, -1]
    torch.testing.assert_close(logits.softmax(-1), torch.tensor(trace.output.distribution), rtol=1e-4, atol=1e-6)
    page.get_by_role("tab", name="All heads").click()
    page.locator('.tools [data-key="all.scale"]').click()
    view(page).get_by_role("button", name="log n").click()
    page.wait_for_function("location.search.includes('scale-logn')")
    page.get_by_role("tab", name=re.compile("Head|head")).first.click()
    expect(view(page)).to_contain_text("a scale by log n cannot be saved")
    expect(button).to_have_count(0)
