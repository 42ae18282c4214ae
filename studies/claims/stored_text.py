"""Converts sentences and tables to JSON and back; a sentence keeps its template and values, for translation.

A sentence without values is a string. Others are {"text": template, "values": ...}, with "several" for a plural form,
or {"parts": ..., "separator": ...}. Among the values, a string is shown as it is, for example a number or a model's
name, and a sentence without values is {"text": template}, because it is translated. Column names are sentences too,
so a table is {"columns": ..., "rows": ...}.
"""

from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from models.messages import Message, listed, message, plural_message

NOTHING = "–"  # a cell of a table without a value


def dump(value: Any) -> Any:
    """Returns the JSON form of a sentence, a number or None."""
    if not isinstance(value, Message):
        return value.item() if hasattr(value, "item") else value  # numpy's numbers become Python's
    values = {name: _dump_value(item) for name, item in value.values.items()}
    if value.separator:
        return {"parts": [*values.values()], "separator": value.separator}
    if value.plural:
        return {"text": value.template, "several": value.plural, "values": values}
    return {"text": value.template, "values": values} if values else value.template


def _dump_value(value: Any) -> Any:
    form = dump(value)
    return {"text": form} if isinstance(value, Message) and isinstance(form, str) else form


def load(value: Any) -> Any:
    """Returns the value that `dump` was given; a sentence without values at the top is a plain string."""
    if not isinstance(value, dict):
        return value
    try:
        if "parts" in value:
            return listed([load(part) for part in value["parts"]], value["separator"])
        if [*value] == ["text"]:
            return message(value["text"])
        values = {name: load(item) for name, item in value["values"].items()}
        if "several" in value:
            return plural_message(value["text"], value["several"], values.pop("n"), **values)
        return message(value["text"], **values)
    except (LookupError, TypeError, AttributeError) as error:  # a damaged file can contain anything
        raise ValueError(f"{value!r} is not a sentence") from error


def dump_rows(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the columns and rows of a table; a missing cell becomes null."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return {"columns": [dump(name) for name in columns],
            "rows": [[dump(row.get(name)) for name in columns] for row in rows]}


def load_text(value: Any) -> str:
    """Returns the sentence that `dump` was given, always as a Message, so that it is translated inside others too."""
    text = load(value)
    if not isinstance(text, str):
        raise ValueError(f"{value!r} is not a sentence")
    return text if isinstance(text, Message) else Message(text)


def load_table(table: Any) -> list[dict[str, str]]:
    """Returns the rows that `dump_rows` was given; raises ValueError if a cell is not a sentence."""
    return [{name: load_text(cell) for name, cell in row.items()} for row in load_rows(table)]


def load_rows(table: Any) -> list[dict[str, Any]]:
    """Returns the rows that `dump_rows` was given."""
    try:
        columns = [load_text(name) for name in table["columns"]]
        return [{name: load(cell) for name, cell in zip(columns, row, strict=True) if cell is not None}
                for row in table["rows"]]
    except (LookupError, TypeError) as error:
        raise ValueError("not a table of columns and rows") from error


# Texts need separate validators, because pydantic would convert sentences to plain strings.
Text = Annotated[str, PlainValidator(load_text), PlainSerializer(dump)]
Table = Annotated[list[dict[str, str]], PlainValidator(load_table), PlainSerializer(dump_rows)]
Points = Annotated[list[dict[str, Any]], PlainValidator(load_rows), PlainSerializer(dump_rows)]
