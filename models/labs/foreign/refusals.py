"""The reasons why a model is refused, in one table: for each cause a sentence for the visitor and a remedy.

docs/architectures.md prints the table. For every cause there is a tiny model that is refused for this cause, in
tests/models/test_foreign_refusals.py.
"""

from __future__ import annotations

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


SAVE_AGAIN = N_("Save the model again with save_pretrained, and open that folder")
CHECK_NUMBERS = N_("Check the values in config.json against the model's page")
OTHER_MODEL = N_("Choose a model whose attention is a softmax over all tokens; docs/architectures.md lists them")

REFUSALS: dict[str, Refusal] = {
    # causes of the folder
    "no folder": Refusal(N_("there is no such folder"), N_("Check the path; it is read on the machine that runs "
                                                           "Attention Lab")),
    "hosted": Refusal(N_("this host opens no folders"), N_("Run Attention Lab on your own machine to open a folder")),
    "folder unknown": Refusal(N_("a link does not say where this model's folder is"), N_("Open the folder again")),
    "no config": Refusal(N_("there is no config.json: this is no folder of a transformers model"), SAVE_AGAIN),
    "outside": Refusal(N_("{file} leads out of the model's folder"), N_("Copy the file itself into the folder")),
    "tokenizer outside": Refusal(N_("tokenizer_config.json leads out of the model's folder ({key})"),
                                 N_("Copy the file itself into the folder")),
    "adapter": Refusal(N_("this is an adapter of another model"),
                       N_("Merge it into its model (merge_and_unload in peft), save that, and open it")),
    "pickle": Refusal(N_("its weights exist only as a pickle file, which can run any code when it is read"),
                      N_("Save the model again as safetensors, with save_pretrained")),
    "no weights": Refusal(N_("it has no weights (model.safetensors)"), SAVE_AGAIN),
    "file missing": Refusal(N_("{file} is missing"), N_("Download all files of the model again")),
    "index damaged": Refusal(N_("{file} is damaged"), N_("Download all files of the model again")),
    "unreadable": Refusal(N_("{file} cannot be read"), N_("Download all files of the model again")),
    "pointer": Refusal(N_("{file} holds only the address of the weights (Git LFS)"),
                       N_("Run git lfs pull in the folder, or download the file itself")),
    "no file": Refusal(N_("{file} is not a regular file"), N_("Copy the model's files into a new folder")),
    "link loop": Refusal(N_("{file} is a link that leads back to itself"), N_("Copy the file itself into the folder")),
    "nested": Refusal(N_("{file} has brackets that are nested too deeply"), SAVE_AGAIN),
    "slow": Refusal(N_("reading {file} takes more than {seconds:,} s"), SAVE_AGAIN),
    "memory": Refusal(N_("reading {file} takes more than {memory:,} MB of memory"), SAVE_AGAIN),
    "crash": Refusal(N_("reading {file} ends the process that reads it"), SAVE_AGAIN),
    # causes of config.json
    "config unreadable": Refusal(N_("its config.json cannot be read, or does not say the model's type"), SAVE_AGAIN),
    "config damaged": Refusal(N_("transformers refuses its config.json: {why}"), CHECK_NUMBERS),
    "config unfit": Refusal(N_("its files have the shape {held} for {first}, and config.json describes {described}"),
                            CHECK_NUMBERS),
    "unknown type": Refusal(N_("transformers {version} has no model of type {kind}"),
                            N_("Update transformers, or choose another model")),
    "own code": Refusal(N_("transformers {version} has no model of type {kind}, and the model's own code is never run "
                           "here"), N_("Look for a version of the model that transformers itself can read")),
    "package": Refusal(N_("transformers needs another package for this model: {why}"),
                       N_("Install that package, and start Attention Lab again")),
    "number": Refusal(N_("{field} in config.json is {value:,}; possible are {least:,} to {most:,}"),
                      CHECK_NUMBERS),
    "patches": Refusal(N_("a picture has {patches:,} patches, and at most {most:,} can be shown"),
                       N_("Choose a version of the model for smaller pictures")),
    "quantised": Refusal(N_("its weights are quantised"),
                         N_("Open a version of the model with floats of 16 or 32 bits")),
    "sound": Refusal(N_("a model of type {kind} reads or generates sound"),
                     N_("Choose a model that reads text or pictures")),
    "several inputs": Refusal(N_("a model of type {kind} reads neither text alone nor a picture alone"),
                              N_("Choose a model that reads one text or one picture")),
    "another task": Refusal(N_("Attention Lab shows an encoder-decoder through the text that it generates, and this "
                               "model of type {kind} generates none"),
                            N_("Choose a version of the model that was trained to write text")),
    "pictures of no fixed size": Refusal(N_("config.json of this vision model names no fixed size of pictures and "
                                            "patches"),
                                         N_("Choose a vision Transformer with fixed patches, like ViT or DINOv2")),
    "no heads": Refusal(N_("config.json of a model of type {kind} names no number of attention heads and layers: its "
                           "layers may be recurrent or convolutional"), OTHER_MODEL),
    "several resolutions": Refusal(N_("a model of type {kind} attends at several resolutions, so that its maps have no "
                                      "common patches"),
                                   N_("Choose a vision Transformer with fixed patches, like ViT or DINOv2")),
    # causes of the weights
    "weights damaged": Refusal(N_("its weights cannot be read: a file is damaged"),
                               N_("Download all files of the model again")),
    "weights missing": Refusal(N_("its files lack {count} of its weights, for example {first}"), SAVE_AGAIN),
    "weights unused": Refusal(N_("the model that config.json describes does not use {count} of the weights in its "
                                 "files, for example {first}, so that its answers would differ"), CHECK_NUMBERS),
    "weights described": Refusal(N_("config.json describes {described:,} weights, and the files hold {held:,}"),
                                 CHECK_NUMBERS),
    "not finite": Refusal(N_("its weights hold values that are not finite numbers, in {first}"),
                          N_("Training diverged: open an earlier checkpoint")),
    "computes no numbers": Refusal(N_("it computes values that are not finite numbers"),
                                   N_("Its weights overflow in 32 bits: open another checkpoint")),
    # causes of the attention
    "does not run": Refusal(N_("transformers {version} cannot run a text through it with this config.json: {why}"),
                            CHECK_NUMBERS),
    "approximation": Refusal(N_("a model of type {kind} approximates attention or replaces it, and computes no softmax "
                                "over all tokens"), OTHER_MODEL),
    "own attention": Refusal(N_("transformers computes the attention of {kind} in code of its own, for which "
                                "Attention Lab has no adapter"), OTHER_MODEL),
    "no softmax layer": Refusal(N_("no layer of {kind} computes a softmax over the text's tokens"), OTHER_MODEL),
    "other keys": Refusal(N_("a layer of {kind} attends from {queries} positions to {keys}, which are not the tokens "
                             "of one input"), OTHER_MODEL),
    "uneven heads": Refusal(N_("the layers of {kind} have different numbers of heads ({heads})"), OTHER_MODEL),
    "more than softmax": Refusal(N_("the attention of {kind} is more than a softmax of q·k: its maps would be wrong"),
                                 OTHER_MODEL),
    "history": Refusal(N_("the results of {kind} depend on the texts that it read before"), OTHER_MODEL),
    # causes of the tokenizer
    "no tokenizer": Refusal(N_("it has no tokenizer (tokenizer.json)"),
                            N_("Save its tokenizer into the same folder with save_pretrained")),
    "tokenizer unreadable": Refusal(N_("its tokenizer cannot be read"),
                                    N_("Save its tokenizer again with save_pretrained, so that tokenizer.json is "
                                       "there")),
    "empty tokenizer": Refusal(N_("the vocabulary of its tokenizer is empty"),
                               N_("Save its tokenizer again with save_pretrained, so that tokenizer.json is there")),
    "slow tokenizer": Refusal(N_("its tokenizer does not say which characters a token came from"),
                              N_("Convert it to a fast tokenizer: a file tokenizer.json")),
    "large tokenizer": Refusal(N_("its tokenizer has {tokens:,} tokens, but the model has embeddings of only {rows:,}"),
                               N_("Save its tokenizer again with save_pretrained, so that tokenizer.json is there")),
    "tokenizer fails": Refusal(N_("its tokenizer fails on an ordinary text"),
                               N_("Save its tokenizer again with save_pretrained, so that tokenizer.json is there")),
    # causes of the Hub
    "no id": Refusal(N_("{repo} is no id of a model on the Hub"), N_("An id looks like openai-community/gpt2")),
    "not allowed": Refusal(N_("{repo} is not among the models that this host opens"),
                           N_("On your own machine, Attention Lab can open any model")),
    "gated": Refusal(N_("{repo} is gated"), N_("Ask its owner for access on the Hub, and log in with hf auth login")),
    "no repository": Refusal(N_("there is no {repo} on the Hub, or it is private"),
                             N_("Check the id; log in with hf auth login if the model is yours")),
    "hub file missing": Refusal(N_("{repo} lacks a file that a model needs"), N_("Choose another model")),
    "hub damaged": Refusal(N_("{repo} cannot be read: its files are damaged"), N_("Choose another model")),
    "hub page": Refusal(N_("the Hub's address answers with a web page in place of {repo}"),
                        N_("Log in to the network or proxy, or check HF_ENDPOINT")),
    "hub error": Refusal(N_("the Hub answers with an error"), N_("Try again later")),
    "unreachable": Refusal(N_("the Hub cannot be reached from here, and {repo} is not on this machine"),
                           N_("Check the network, or open a folder")),
    "too large": Refusal(N_("{repo} would take {memory:,.0f} MB of memory; at most {most:,.0f} MB are opened here"),
                         N_("Choose a smaller model of the same family")),
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
