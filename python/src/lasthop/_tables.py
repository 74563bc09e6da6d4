"""Tables as data frames of the library that the caller prefers."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasthop._errors import MissingLibraryError, RunDirectoryError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Row = dict[str, Any]
"""A row of a table: values by the name of their column."""


class Table(ABC):
    """A table that is read when one of its methods is called."""

    @abstractmethod
    def polars(self) -> pl.DataFrame:
        """Return the table as a Polars data frame (`pip install 'lasthop[polars]'`)."""

    @abstractmethod
    def pandas(self) -> pd.DataFrame:
        """Return the table as a pandas data frame (`pip install 'lasthop[pandas]'`)."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """Return the table as a list of dictionaries, one for each row."""


@dataclass(frozen=True, slots=True)
class ParquetTable(Table):
    """A Parquet file, or those of its rows that belong to certain runs."""

    path: Path
    """The file."""
    runs: Collection[tuple[int, int]] | None = None
    """Cells and repetitions of the rows; `None` for all rows."""

    def polars(self) -> pl.DataFrame:
        """Return the rows as a Polars data frame."""
        library = _library("polars")
        frame: pl.DataFrame = self._read(library.read_parquet)
        if self.runs is not None:
            keep = self._keep(frame["cell"].to_list(), frame["repetition"].to_list())
            frame = frame.filter(library.Series(keep, dtype=library.Boolean))
        return frame

    def pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame, with pyarrow's types."""
        library = _library("pandas")
        _library("pyarrow", extra="pandas")
        frame: pd.DataFrame = self._read(
            lambda path: library.read_parquet(path, engine="pyarrow", dtype_backend="pyarrow")
        )
        if self.runs is not None:
            keep = self._keep(frame["cell"].tolist(), frame["repetition"].tolist())
            frame = frame.loc[keep].reset_index(drop=True)
        return frame

    def rows(self) -> list[Row]:
        """Return the rows as dictionaries, read with Polars or pyarrow."""
        if _is_installed("polars"):
            return self.polars().to_dicts()
        rows: list[Row] = self._read(
            lambda path: _library("pyarrow.parquet", extra="pandas").read_table(path).to_pylist()
        )
        if self.runs is not None:
            rows = [row for row in rows if (row["cell"], row["repetition"]) in self.runs]
        return rows

    def _read(self, read: Callable[[Path], Any]) -> Any:
        if not self.path.exists():
            raise RunDirectoryError(f"there is no file {self.path}")
        return read(self.path)

    def _keep(self, cells: Sequence[int], repetitions: Sequence[int]) -> list[bool]:
        assert self.runs is not None
        return [run in self.runs for run in zip(cells, repetitions, strict=True)]


@dataclass(frozen=True, slots=True)
class MemoryTable(Table):
    """A table of rows that are in memory."""

    content: Sequence[Mapping[str, Any]]
    """The rows; all have the same columns."""

    def polars(self) -> pl.DataFrame:
        """Return the rows as a Polars data frame."""
        frame: pl.DataFrame = _library("polars").DataFrame(self.rows(), infer_schema_length=None)
        return frame

    def pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame."""
        frame: pd.DataFrame = _library("pandas").DataFrame(self.rows())
        return frame

    def rows(self) -> list[Row]:
        """Return the rows as dictionaries."""
        return [dict(row) for row in self.content]


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _library(name: str, extra: str | None = None) -> Any:
    """Import a library, or raise an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        message = f"this table needs {package}: pip install 'lasthop[{extra or package}]'"
        raise MissingLibraryError(message) from error
