"""Trains the released tokenizers again from the data: `python -m models.tasks.tokenizers`.

The result must equal the files in the repository byte for byte, because models were trained on the token ids of these
files; `make verify` checks this.
"""

import argparse
from pathlib import Path

from models.storage.datasets import add_data_option
from models.tasks import dialogue, stories, summary, translation


def trained(data: Path) -> dict[Path, str]:
    """Returns tokenizer file -> its new content."""
    return {task.TOKENIZER: task.train_tokenizer(data).to_str(pretty=True)
            for task in (stories, translation, summary, dialogue)}


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser)
    for path, text in trained(parser.parse_args().data).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
