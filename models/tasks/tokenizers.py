"""Makes the tokenizers that ship again, from the data: `python -m models.tasks.tokenizers`.

All are byte for byte what is in the repository, as `make verify` shows: models were trained on their ids.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from models.storage.datasets import add_data_option
from models.tasks import dialogue, stories, summary, translation


def made(data: Path) -> dict[Path, str]:
    """File -> what it holds."""
    return {its.TOKENIZER: its.train_tokenizer(data).to_str(pretty=True)
            for its in (stories, translation, summary, dialogue)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser)
    for path, text in made(parser.parse_args().data).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
