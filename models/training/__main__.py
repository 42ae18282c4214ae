"""Runs the trainer: `python -m models.training NAME ...`."""

from models.training.trainer import main

if __name__ == "__main__":
    main()
