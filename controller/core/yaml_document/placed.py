"""A document with the places in its text, so that later errors can still be shown at their place."""

from dataclasses import dataclass, field
from typing import Any

from controller.core.yaml_document.document import Document, Path, field_name
from controller.core.yaml_document.errors import DocumentError

_NO_DOCUMENT = Document({}, {(): (1, 1)}, {})


@dataclass(frozen=True)
class Placed:
    """A document that was read from `file`, a name for messages."""

    file: str
    document: Document = field(default=_NO_DOCUMENT, compare=False, repr=False, kw_only=True)

    def error(self, path: Path, message: str, suggestion: str = "") -> DocumentError:
        """Return an error about the value at `path`. A mapping or list is shown at the place of its name."""
        named = path in self.document.keys and isinstance(self.at(path), dict | list)
        place = self.document.place_of_key(path) if named else self.document.place(path)
        return DocumentError(self.file, *place, field_name(path), message, suggestion)

    def has(self, path: Path) -> bool:
        """Return whether the text has a value at `path`."""
        return path in self.document.values

    def at(self, path: Path) -> Any:
        """Return the plain data at `path`."""
        data: Any = self.document.data
        for part in path:
            data = data[part]
        return data
