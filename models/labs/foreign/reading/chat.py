"""The reader of a chat model: it puts every text into the tokenizer's chat template as the message of a user."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from models.labs.foreign.reading import texts
from models.labs.foreign.reading.readers import CausalReader
from models.labs.foreign.reading.templates import TODAY, framed, writes_date
from models.labs.foreign.reading.texts import Encoded
from models.messages import message
from models.prompt import Prompt, readable


class ChatReader(CausalReader):
    """The reader of the same model in its chat template; `Prompt.template` has the positions of the added tokens."""

    is_slow = True  # a template may take seconds

    @classmethod
    def of(cls, reader: CausalReader) -> Self:
        """Returns the reader in the chat template of another reader, with the same tokenizer."""
        result = cls(reader.name, reader.folder, reader.config, reader.longest, reader.trained_length)
        vars(result).update(vars(reader))
        return result

    def read(self, text: str, limit: int | None = None) -> Prompt:
        typed = readable(text)
        chat = framed(self.tokenizer, typed)
        encoded = texts.encode(self.tokenizer, chat.text, with_special=False)
        begin, end = len(chat.before), len(chat.before) + len(chat.content)
        own = [i for i, (start, stop) in enumerate(zip(encoded.starts, encoded.stops, strict=True))
               if start < end and stop > begin]
        first, last = (own[0], own[-1] + 1) if own else (0, 0)

        def in_typed(place: int) -> int:
            return min(max(place, begin), end) - begin + chat.start

        of_text = Encoded(encoded.ids, [*map(in_typed, encoded.starts)], [*map(in_typed, encoded.stops)],
                          (first, last), typed)
        prompt = self.prompt(of_text, [-1] * len(encoded.ids), text, limit or self.limit)
        count, behind = len(prompt.ids), len(encoded.ids) - last
        return replace(prompt, template=(*range(first), *range(count - behind, count)))

    def hint(self, ids: Sequence[int]) -> str:
        if not writes_date(self.tokenizer):
            return ""
        return message("The chat template writes the date {date}, not today's", date=f"{TODAY:%d %b %Y}")

    def space_hint(self, text: str) -> str:
        """Returns no hint: the template follows the text, so a space at its end is not where the answer begins."""
        return ""
