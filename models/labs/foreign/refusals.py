"""The error of a model that cannot be opened, and its reasons in one table: a sentence for the visitor and a remedy.

docs/architectures.md prints the table. For every cause there is a tiny model that is refused for this cause, in
tests/models/test_foreign_refusals.py.
"""

import re
from collections.abc import Mapping
from typing import Any

from models.messages import N_, cut, message

HUB, FOLDER = "hf:", "folder:"  # prefixes of the addresses of foreign models


class ForeignError(ValueError):
    """A model that cannot be opened; the message gives the reason and contains no path of the machine."""

    cause: str = ""  # key of REFUSALS in models/labs/foreign/refusals.py; empty for an error that is not a refusal
    values: Mapping[str, Any] = {}  # values of the names in the refusal's sentences


Refusal = tuple[str, str]  # templates: the fault of the model, and what to do instead

SAVE_AGAIN = N_("Save the model again with save_pretrained")
CHECK_NUMBERS = N_("Check config.json against the model's page")
OTHER_MODEL = N_("Choose a model of docs/architectures.md")
ANOTHER_MODEL = N_("Choose another model")
DOWNLOAD_AGAIN = N_("Download all files again")
SAVE_TOKENIZER = N_("Save its tokenizer again with save_pretrained (tokenizer.json)")
FIXED_PATCHES = N_("Choose a model like ViT or DINOv2")
TEXT_OR_PICTURES = N_("Choose a model that reads text or pictures")

REFUSALS: dict[str, Refusal] = {
    # causes of the folder
    "no folder": (N_("there is no such folder"), N_("Check the path on the server")),
    "hosted": (N_("this host opens no folders"), N_("Run Attention Lab on your own machine")),
    "folder unknown": (N_("a link does not name the folder"), N_("Open the folder again")),
    "no config": (N_("no config.json: this is no transformers model"), SAVE_AGAIN),
    "outside": (N_("{file} leads out of the folder"), N_("Copy the file into the folder")),
    "tokenizer outside": (N_("tokenizer_config.json leads out of the folder ({key})"),
                          N_("Copy the file into the folder")),
    "adapter": (N_("an adapter of another model"), N_("Merge it into its model (peft: merge_and_unload)")),
    "pickle": (N_("its weights are a pickle file, which can run any code"),
               N_("Save it as safetensors, with save_pretrained")),
    "no weights": (N_("it has no weights (model.safetensors)"), SAVE_AGAIN),
    "file missing": (N_("{file} is missing"), DOWNLOAD_AGAIN),
    "index damaged": (N_("{file} is damaged"), DOWNLOAD_AGAIN),
    "unreadable": (N_("{file} cannot be read"), DOWNLOAD_AGAIN),
    "pointer": (N_("{file} is a Git LFS pointer without weights"), N_("Run git lfs pull")),
    "no file": (N_("{file} is not a regular file"), N_("Copy the files into a new folder")),
    "link loop": (N_("{file} is a link to itself"), N_("Copy the file into the folder")),
    "nested": (N_("{file} has too deeply nested brackets"), SAVE_AGAIN),
    "slow": (N_("reading {file} takes more than {seconds:,} s"), SAVE_AGAIN),
    "memory": (N_("reading {file} takes more than {memory:,} MB of memory"), SAVE_AGAIN),
    "crash": (N_("reading {file} crashes the process"), SAVE_AGAIN),
    # causes of config.json
    "config unreadable": (N_("its config.json cannot be read, or names no type"), SAVE_AGAIN),
    "config damaged": (N_("transformers refuses its config.json: {why}"), CHECK_NUMBERS),
    "config unfit": (N_("its files have the shape {held} for {first}, and config.json describes {described}"),
                     CHECK_NUMBERS),
    "unknown type": (N_("transformers {version} has no type {kind}"),
                     N_("Update transformers, or choose another model")),
    "own code": (N_("transformers {version} has no type {kind}, and the model's own code is never run"), ANOTHER_MODEL),
    "package": (N_("transformers needs another package: {why}"), N_("Install it, and restart Attention Lab")),
    "number": (N_("{field} in config.json is {value:,}, not {least:,} to {most:,}"), CHECK_NUMBERS),
    "patches": (N_("a picture has {patches:,} patches; at most {most:,} are shown"), N_("Choose a smaller model")),
    "quantised": (N_("its weights are quantised"), N_("Open a version with floats of 16 or 32 bits")),
    "sound": (N_("type {kind} reads or generates sound"), TEXT_OR_PICTURES),
    "several inputs": (N_("type {kind} reads neither text alone nor pictures alone"), TEXT_OR_PICTURES),
    "another task": (N_("an encoder-decoder of type {kind} generates no text"), ANOTHER_MODEL),
    "pictures of no fixed size": (N_("config.json names no size of pictures and patches"), FIXED_PATCHES),
    "no heads": (N_("config.json names no numbers of heads and layers"), OTHER_MODEL),
    "several resolutions": (N_("type {kind} attends at several resolutions"), FIXED_PATCHES),
    # causes of the weights
    "weights damaged": (N_("a file of its weights is damaged"), DOWNLOAD_AGAIN),
    "weights missing": (N_("its files lack {count} weights, for example {first}"), SAVE_AGAIN),
    "weights unused": (N_("config.json does not use {count} weights of the files, for example {first}"), CHECK_NUMBERS),
    "weights described": (N_("config.json describes {described:,} weights, the files hold {held:,}"), CHECK_NUMBERS),
    "not finite": (N_("its weights are not all finite numbers ({first})"), N_("Open another checkpoint")),
    "computes no numbers": (N_("its results are not finite numbers"), N_("Open another checkpoint")),
    # causes of the attention
    "does not run": (N_("transformers {version} cannot run it: {why}"), CHECK_NUMBERS),
    "approximation": (N_("type {kind} computes no softmax over all tokens"), OTHER_MODEL),
    "own attention": (N_("{kind} computes attention in its own code"), OTHER_MODEL),
    "no softmax layer": (N_("no layer of {kind} computes a softmax over tokens"), OTHER_MODEL),
    "other keys": (N_("a layer of {kind} attends from {queries} positions to {keys}, not {expected}"), OTHER_MODEL),
    "uneven heads": (N_("the layers of {kind} have different numbers of heads ({heads})"), OTHER_MODEL),
    "more than softmax": (N_("the attention of {kind} is more than a softmax of q·k"), OTHER_MODEL),
    "history": (N_("the results of {kind} depend on earlier texts"), OTHER_MODEL),
    # causes of the tokenizer
    "no tokenizer": (N_("it has no tokenizer (tokenizer.json)"), SAVE_TOKENIZER),
    "tokenizer unreadable": (N_("its tokenizer cannot be read"), SAVE_TOKENIZER),
    "empty tokenizer": (N_("its tokenizer has no tokens"), SAVE_TOKENIZER),
    "slow tokenizer": (N_("its tokenizer returns no positions of tokens"),
                       N_("Convert it to a fast tokenizer (tokenizer.json)")),
    "large tokenizer": (N_("its tokenizer has {tokens:,} tokens, the model {rows:,} embeddings"), SAVE_TOKENIZER),
    "tokenizer fails": (N_("its tokenizer fails on an ordinary text"), SAVE_TOKENIZER),
    # causes of the Hub
    "no id": (N_("{repo} is no model id"), N_("An id looks like openai-community/gpt2")),
    "not allowed": (N_("this host does not open {repo}"), N_("Run Attention Lab on your own machine")),
    "gated": (N_("{repo} is gated"), N_("Ask for access, and log in with hf auth login")),
    "no repository": (N_("no {repo} on the Hub, or it is private"), N_("Check the id, or log in with hf auth login")),
    "no revision": (N_("{repo} has no such tag, branch or commit"), N_("Check the part after @")),
    "hub file missing": (N_("{repo} lacks a necessary file"), ANOTHER_MODEL),
    "hub damaged": (N_("files of {repo} are damaged"), ANOTHER_MODEL),
    "hub page": (N_("the Hub's address returns a web page for {repo}"),
                 N_("Log in to the network, or check HF_ENDPOINT")),
    "hub error": (N_("the Hub answers with an error"), N_("Try again later")),
    "unreachable": (N_("the Hub cannot be reached, and {repo} is not on this machine"),
                    N_("Check the network, or open a folder")),
    "too large": (N_("{repo} would take {memory:,.0f} MB of memory (at most {most:,.0f} MB)"),
                  N_("Choose a smaller model")),
}


def refuse(cause: str, **values: Any) -> ForeignError:
    """Returns the error of a cause, to be raised."""
    error = ForeignError(sentence(REFUSALS[cause], **values))
    error.cause, error.values = cause, values
    return error


def sentence(refusal: Refusal, **values: Any) -> str:
    """Returns reason and remedy as one message, which a catalogue can translate."""
    reason, remedy = (message(text, **values) for text in refusal)
    return message("{reason}. {remedy}", reason=reason, remedy=remedy)


def why(error: Exception) -> str:
    """Returns the sentence of an exception of transformers, without names of classes and paths of the machine."""
    lines = (str(error).strip() or type(error).__name__).splitlines()
    # after the first sentence about a missing package, its commands follow
    first = re.sub(r"^\w+ requires", "it requires", lines[0].partition(". ")[0])
    last = first if isinstance(error, ImportError) else lines[-1].strip()
    last = re.sub(r"(?<!\w)/\S+/", "", re.sub(r"^\w*Error: ", "", last)).rstrip(".")
    return cut(f"unknown value {last}" if isinstance(error, KeyError) else last, 300)


def version() -> str:
    """Returns the version of transformers, which several messages contain."""
    import transformers

    return transformers.__version__
