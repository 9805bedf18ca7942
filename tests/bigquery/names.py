"""What datasets and tables are called."""

from typing import NamedTuple


class DatasetId(NamedTuple):
    """A dataset of a project."""

    project: str
    dataset: str

    @property
    def sql(self) -> str:
        """Return the name as DuckDB spells it: a project is a database, a dataset is a schema."""
        return f"{quoted(self.project)}.{quoted(self.dataset)}"

    def __str__(self) -> str:
        return f"Dataset {self.project}:{self.dataset}"


class TableId(NamedTuple):
    """A table or view of a dataset."""

    project: str
    dataset: str
    table: str

    @property
    def parent(self) -> DatasetId:
        """Return the dataset that it is in."""
        return DatasetId(self.project, self.dataset)

    @property
    def sql(self) -> str:
        """Return the name as DuckDB spells it."""
        return f"{self.parent.sql}.{quoted(self.table)}"

    @property
    def reference(self) -> dict[str, str]:
        """Return the name as the protocol spells it."""
        return {"projectId": self.project, "datasetId": self.dataset, "tableId": self.table}

    def __str__(self) -> str:
        return f"Table {self.project}:{self.dataset}.{self.table}"


def quoted(name: str) -> str:
    """Return a name as an identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'
