"""The reasons why a model is refused, in one table: for each cause a sentence for the visitor and a remedy.

docs/architectures.md prints the table. For every cause there is a tiny model that is refused for this cause, in
tests/models/test_foreign_refusals.py.
"""

import re
from dataclasses import dataclass
from typing import Any

from models.labs.foreign.errors import ForeignError
from models.messages import N_, cut, message


@dataclass(frozen=True)
class Refusal:
    """The texts for one cause."""

    reason: str  # the fault of the model; a template with {names}
    remedy: str  # what to do instead; a template


SAVE_AGAIN = N_("Save the model again with save_pretrained")
CHECK_NUMBERS = N_("Check config.json against the model's page")
OTHER_MODEL = N_("Choose a model of docs/architectures.md")
SAVE_TOKENIZER = N_("Save its tokenizer again with save_pretrained (tokenizer.json)")
FIXED_PATCHES = N_("Choose a model like ViT or DINOv2")
TEXT_OR_PICTURES = N_("Choose a model that reads text or pictures")

REFUSALS: dict[str, Refusal] = {
    # causes of the folder
    "no folder": Refusal(N_("there is no such folder"), N_("Check the path on the server")),
    "hosted": Refusal(N_("this host opens no folders"), N_("Run Attention Lab on your own machine")),
    "folder unknown": Refusal(N_("a link does not name the folder"), N_("Open the folder again")),
    "no config": Refusal(N_("no config.json: this is no transformers model"), SAVE_AGAIN),
    "outside": Refusal(N_("{file} leads out of the folder"), N_("Copy the file into the folder")),
    "tokenizer outside": Refusal(N_("tokenizer_config.json leads out of the folder ({key})"),
                                 N_("Copy the file into the folder")),
    "adapter": Refusal(N_("an adapter of another model"),
                       N_("Merge it into its model (peft: merge_and_unload)")),
    "pickle": Refusal(N_("its weights are a pickle file, which can run any code"),
                      N_("Save it as safetensors, with save_pretrained")),
    "no weights": Refusal(N_("it has no weights (model.safetensors)"), SAVE_AGAIN),
    "file missing": Refusal(N_("{file} is missing"), N_("Download all files again")),
    "index damaged": Refusal(N_("{file} is damaged"), N_("Download all files again")),
    "unreadable": Refusal(N_("{file} cannot be read"), N_("Download all files again")),
    "pointer": Refusal(N_("{file} is a Git LFS pointer without weights"),
                       N_("Run git lfs pull")),
    "no file": Refusal(N_("{file} is not a regular file"), N_("Copy the files into a new folder")),
    "link loop": Refusal(N_("{file} is a link to itself"), N_("Copy the file into the folder")),
    "nested": Refusal(N_("{file} has too deeply nested brackets"), SAVE_AGAIN),
    "slow": Refusal(N_("reading {file} takes more than {seconds:,} s"), SAVE_AGAIN),
    "memory": Refusal(N_("reading {file} takes more than {memory:,} MB of memory"), SAVE_AGAIN),
    "crash": Refusal(N_("reading {file} crashes the process"), SAVE_AGAIN),
    # causes of config.json
    "config unreadable": Refusal(N_("its config.json cannot be read, or names no type"), SAVE_AGAIN),
    "config damaged": Refusal(N_("transformers refuses its config.json: {why}"), CHECK_NUMBERS),
    "config unfit": Refusal(N_("its files have the shape {held} for {first}, and config.json describes {described}"),
                            CHECK_NUMBERS),
    "unknown type": Refusal(N_("transformers {version} has no type {kind}"),
                            N_("Update transformers, or choose another model")),
    "own code": Refusal(N_("transformers {version} has no type {kind}, "
                           "and the model's own code is never run"), N_("Choose another model")),
    "package": Refusal(N_("transformers needs another package: {why}"),
                       N_("Install it, and restart Attention Lab")),
    "number": Refusal(N_("{field} in config.json is {value:,}, not {least:,} to {most:,}"),
                      CHECK_NUMBERS),
    "patches": Refusal(N_("a picture has {patches:,} patches; at most {most:,} are shown"),
                       N_("Choose a smaller model")),
    "quantised": Refusal(N_("its weights are quantised"),
                         N_("Open a version with floats of 16 or 32 bits")),
    "sound": Refusal(N_("type {kind} reads or generates sound"),
                     TEXT_OR_PICTURES),
    "several inputs": Refusal(N_("type {kind} reads neither text alone nor pictures alone"),
                              TEXT_OR_PICTURES),
    "another task": Refusal(N_("an encoder-decoder of type {kind} generates no text"),
                            N_("Choose another model")),
    "pictures of no fixed size": Refusal(N_("config.json names no size of pictures and patches"),
                                         FIXED_PATCHES),
    "no heads": Refusal(N_("config.json names no numbers of heads and layers"), OTHER_MODEL),
    "several resolutions": Refusal(N_("type {kind} attends at several resolutions"),
                                   FIXED_PATCHES),
    # causes of the weights
    "weights damaged": Refusal(N_("a file of its weights is damaged"),
                               N_("Download all files again")),
    "weights missing": Refusal(N_("its files lack {count} weights, for example {first}"), SAVE_AGAIN),
    "weights unused": Refusal(N_("config.json does not use {count} weights of the files, for example {first}"),
                              CHECK_NUMBERS),
    "weights described": Refusal(N_("config.json describes {described:,} weights, the files hold {held:,}"),
                                 CHECK_NUMBERS),
    "not finite": Refusal(N_("its weights are not all finite numbers ({first})"),
                          N_("Open another checkpoint")),
    "computes no numbers": Refusal(N_("its results are not finite numbers"),
                                   N_("Open another checkpoint")),
    # causes of the attention
    "does not run": Refusal(N_("transformers {version} cannot run it: {why}"),
                            CHECK_NUMBERS),
    "approximation": Refusal(N_("type {kind} computes no softmax over all tokens"), OTHER_MODEL),
    "own attention": Refusal(N_("{kind} computes attention in its own code"), OTHER_MODEL),
    "no softmax layer": Refusal(N_("no layer of {kind} computes a softmax over tokens"), OTHER_MODEL),
    "other keys": Refusal(N_("a layer of {kind} attends from {queries} positions to {keys}, not {expected}"),
                          OTHER_MODEL),
    "uneven heads": Refusal(N_("the layers of {kind} have different numbers of heads ({heads})"), OTHER_MODEL),
    "more than softmax": Refusal(N_("the attention of {kind} is more than a softmax of q·k"),
                                 OTHER_MODEL),
    "history": Refusal(N_("the results of {kind} depend on earlier texts"), OTHER_MODEL),
    # causes of the tokenizer
    "no tokenizer": Refusal(N_("it has no tokenizer (tokenizer.json)"),
                            N_("Save its tokenizer again with save_pretrained (tokenizer.json)")),
    "tokenizer unreadable": Refusal(N_("its tokenizer cannot be read"),
                                    SAVE_TOKENIZER),
    "empty tokenizer": Refusal(N_("its tokenizer has no tokens"),
                               SAVE_TOKENIZER),
    "slow tokenizer": Refusal(N_("its tokenizer returns no positions of tokens"),
                              N_("Convert it to a fast tokenizer (tokenizer.json)")),
    "large tokenizer": Refusal(N_("its tokenizer has {tokens:,} tokens, the model {rows:,} embeddings"),
                               SAVE_TOKENIZER),
    "tokenizer fails": Refusal(N_("its tokenizer fails on an ordinary text"),
                               SAVE_TOKENIZER),
    # causes of the Hub
    "no id": Refusal(N_("{repo} is no model id"), N_("An id looks like openai-community/gpt2")),
    "not allowed": Refusal(N_("this host does not open {repo}"),
                           N_("Run Attention Lab on your own machine")),
    "gated": Refusal(N_("{repo} is gated"), N_("Ask for access, and log in with hf auth login")),
    "no repository": Refusal(N_("no {repo} on the Hub, or it is private"),
                             N_("Check the id, or log in with hf auth login")),
    "no revision": Refusal(N_("{repo} has no such tag, branch or commit"), N_("Check the part after @")),
    "hub file missing": Refusal(N_("{repo} lacks a necessary file"), N_("Choose another model")),
    "hub damaged": Refusal(N_("files of {repo} are damaged"), N_("Choose another model")),
    "hub page": Refusal(N_("the Hub's address returns a web page for {repo}"),
                        N_("Log in to the network, or check HF_ENDPOINT")),
    "hub error": Refusal(N_("the Hub answers with an error"), N_("Try again later")),
    "unreachable": Refusal(N_("the Hub cannot be reached, and {repo} is not on this machine"),
                           N_("Check the network, or open a folder")),
    "too large": Refusal(N_("{repo} would take {memory:,.0f} MB of memory (at most {most:,.0f} MB)"),
                         N_("Choose a smaller model")),
}


def refuse(cause: str, **values: Any) -> ForeignError:
    """Returns the error of a cause, to be raised."""
    error = ForeignError(sentence(REFUSALS[cause], **values))
    error.cause, error.values = cause, values
    return error


def sentence(refusal: Refusal, **values: Any) -> str:
    """Returns reason and remedy as one message, which a catalogue can translate."""
    return message("{reason}. {remedy}", reason=message(refusal.reason, **values), remedy=message(refusal.remedy,
                   **values))


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
