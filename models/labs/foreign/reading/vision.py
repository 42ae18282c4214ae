"""Pictures as input of a vision Transformer; the tokens are patches, named by row and column, counted from 1."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from PIL import Image, ImageOps, UnidentifiedImageError

from models.errors import InputError
from models.labs.foreign.opening.files import content
from models.labs.foreign.reading.classes import ClassAnswer
from models.labs.foreign.reading.readers import TextReader
from models.messages import N_, message
from models.prompt import Prompt

WITHOUT_CLS = ("siglip", "ijepa", "aimv2")  # beginnings of the model types whose patches have no [CLS] in front
FORMATS = ("JPEG", "PNG", "WEBP")  # the accepted formats; Pillow supports forty more, some of which start programs
MOST_PIXELS = 100_000_000  # largest number of pixels of a JPEG, which is decoded at a reduced size
# largest number of decoded pixels: a kilobyte of WebP can contain 49 million, 934 MB in memory
MOST_DECODED = 12_000_000


@dataclass(frozen=True)
class PicturePrompt(Prompt):
    """A picture as input of a model."""

    pixels: bytes = b""  # the normalised pixels (3, height, width) float32 as bytes, so that the prompt is hashable
    size: tuple[int, int] = (0, 0)  # height and width in pixels
    patches: tuple[int, int] = (0, 0)  # number of rows and of columns of patches
    before: int = 1  # number of tokens before the patches
    seen: bytes = b""  # the picture as the model receives it, as the content of a PNG file


class PictureReader(TextReader):
    """The reader of a bare vision Transformer."""

    title = N_("Picture")
    examples = ()
    sees = True

    def __init__(self, name: str, folder: Path, config: Any, longest: int | None, trained_length: int) -> None:
        super().__init__(name, folder, config, longest, trained_length)
        seeing = picture_config(config)
        height, width = _pair(seeing.image_size)
        step = _pair(seeing.patch_size)
        self.size, self.patches = (height, width), (height // step[0], width // step[1])
        self.before = tokens_before(seeing)
        settings = content(folder / "preprocessor_config.json")
        self._preprocessor: dict[str, Any] = settings if isinstance(settings, dict) else {}
        self.limit = self.trained_length = len(self.before) + self.patches[0] * self.patches[1]

    @property
    def pieces(self) -> tuple[str, ...]:
        rows, columns = self.patches
        return (*self.before, *(f"{i + 1},{j + 1}" for i in range(rows) for j in range(columns)))

    def is_text(self, ids: Sequence[int]) -> tuple[bool, ...]:
        return tuple(place >= len(self.before) for place in ids)

    def bytes_of(self, ids: Sequence[int]) -> Mapping[int, str]:
        return {}  # patches have no bytes of text

    def join(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)

    def read(self, text: str, limit: int | None = None) -> Prompt:
        raise InputError(message("This model reads pictures: choose one"), 0, len(text))

    def read_picture(self, data: bytes) -> PicturePrompt:
        """Returns the prompt of a picture; raises InputError if it is not a picture or too large."""
        seen = self._cut(open_picture(data))
        settings = self._preprocessor
        pixels = numpy.asarray(seen, dtype=numpy.float32) * settings.get("rescale_factor", 1 / 255)
        if settings.get("do_normalize", True):
            mean, deviation = (numpy.array(settings.get(key) or [0.5] * 3, dtype=numpy.float32)
                               for key in ("image_mean", "image_std"))
            pixels = (pixels - mean) / deviation
        png = io.BytesIO()
        seen.save(png, "PNG")
        positions, n = self.predict_at(()), self.limit
        return PicturePrompt(tuple(range(n)), self.pieces, positions, (-1,) * n, size=self.size, patches=self.patches,
                             pixels=pixels.transpose(2, 0, 1).tobytes(), before=len(self.before), seen=png.getvalue())

    def _cut(self, picture: Image.Image) -> Image.Image:
        """Returns the picture in the model's size: its centre if the model was trained on crops, else resized."""
        settings = self._preprocessor
        resample = Image.Resampling(settings.get("resample", Image.Resampling.BILINEAR))
        if settings.get("do_center_crop") or "shortest_edge" in (settings.get("size") or {}):
            return ImageOps.fit(picture, self.size[::-1], resample)
        return picture.resize(self.size[::-1], resample)

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        if not isinstance(prompt, PicturePrompt):
            raise InputError(message("This model reads pictures: choose one"))
        pixels = numpy.frombuffer(prompt.pixels, dtype=numpy.float32).reshape(1, 3, *prompt.size)
        return {"pixel_values": torch.from_numpy(pixels.copy())}


class PictureClassReader(ClassAnswer, PictureReader):  # type: ignore[override]
    """The reader of a vision Transformer that classifies pictures."""

    title = N_("Class of a picture")

    @property
    def auto(self) -> str:  # type: ignore[override]  # DeiT has a class with one head and one with two
        taught = "DeiTForImageClassificationWithTeacher"
        return taught if taught in (self.config.architectures or ()) else "AutoModelForImageClassification"


def picture_config(config: Any) -> Any:
    """Returns the config of the vision part of a model."""
    return config if hasattr(config, "patch_size") else getattr(config, "vision_config", config)


def tokens_before(config: Any) -> tuple[str, ...]:
    """Returns the tokens before the patches: [CLS], [DIST] in DeiT, the registers of DINO; none in WITHOUT_CLS."""
    if str(config.model_type).startswith(WITHOUT_CLS):
        return ()
    registers = getattr(config, "num_register_tokens", 0)
    return ("[CLS]", *(["[DIST]"] if config.model_type == "deit" else []),
            *(f"[REG {i + 1}]" for i in range(registers)))


def open_picture(data: bytes) -> Image.Image:
    """Returns the picture as RGB, rotated by its metadata; the header is checked before any pixel is decoded."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            width, height = picture.size
            if width * height > MOST_DECODED and picture.format == "JPEG" and width * height <= MOST_PIXELS:
                picture.draft("RGB", (width // 4, height // 4))
            width, height = picture.size
            if width * height > MOST_DECODED:
                raise InputError(message("This picture has {size:,.0f} megapixels; at most {most:,.0f} are read",
                                         size=width * height / 1e6, most=MOST_DECODED / 1e6))
            return ImageOps.exif_transpose(picture).convert("RGB")
    except Image.DecompressionBombError as error:
        raise InputError(message("This picture is too large (at most {most:,.0f} megapixels)",
                                 most=MOST_DECODED / 1e6)) from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(message("This file is not a readable picture")) from error


def _pair(size: Any) -> tuple[int, int]:
    """Returns (height, width) of a size that a config gives as one number or as a pair."""
    return (size, size) if isinstance(size, int) else (int(size[0]), int(size[1]))
