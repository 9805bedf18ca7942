"""GoogleSQL as DuckDB reads it, and refusals of what GoogleSQL has not."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from tests.bigquery.errors import invalid_query
from tests.bigquery.names import TableId

DML = ("INSERT", "UPDATE", "DELETE", "MERGE")
MUTATING = ("UPDATE", "DELETE", "MERGE")


@dataclass(frozen=True)
class Place:
    """Where names without a project or dataset are."""

    project: str
    dataset: str = ""


@dataclass(frozen=True)
class Statement:
    """One statement.

    ``kind`` is the protocol's statementType; ``target`` the table that it makes or changes;
    ``condition`` which rows an UPDATE or DELETE changes; ``names`` the parameters in the order of
    DuckDB's ``$p0``, ``$p1``; ``options`` what the service keeps of a CREATE and DuckDB has not.
    """

    sql: str
    kind: str
    target: TableId | None
    names: tuple[str, ...]
    condition: str = "TRUE"
    options: dict[str, Any] = field(default_factory=dict)


@lru_cache(maxsize=256)
def translate(sql: str, place: Place, types: tuple[tuple[str, str], ...]) -> Statement:
    """Translate a statement; ``types`` are the parameters' names and types.

    Raises
    ------
    ApiError
        It is not GoogleSQL, or of a kind that is not known here.
    """
    tree = _parsed(sql)
    options = _options(tree, sql)
    _qualify(tree, place)
    _make_numeric_exact(tree)
    names = _rename_parameters(tree, dict(types))
    _widen_numbers(tree)
    where = tree.args.get("where")
    target = _target(tree)
    return Statement(
        sql=tree.sql(dialect="duckdb", comments=False),
        kind=_kind(tree),
        target=target,
        names=names,
        condition=where.this.sql(dialect="duckdb") if where else "TRUE",
        options=options,
    )


def _parsed(sql: str) -> exp.Expr:
    if any(token.token_type is TokenType.DCOLON for token in sqlglot.tokenize(sql, "bigquery")):
        raise invalid_query('Syntax error: Unexpected ":"')
    try:
        trees = [tree for tree in sqlglot.parse(sql, read="bigquery") if tree]
    except sqlglot.errors.SqlglotError as error:
        raise invalid_query(f"Syntax error: {str(error)[:200]}") from error
    if len(trees) != 1:
        raise invalid_query("Only one statement is known here")
    tree = trees[0]
    for values in tree.find_all(exp.Values):
        if not isinstance(values.parent, exp.Insert):
            raise invalid_query("Syntax error: Unexpected keyword VALUES")
    for foreign in (exp.OnConflict, exp.Returning, exp.ILike):
        if tree.find(foreign):
            raise invalid_query(f"Syntax error: Unexpected keyword {foreign.key.upper()}")
    return tree


def _kind(tree: exp.Expr) -> str:
    if isinstance(tree, exp.Query):
        return "SELECT"
    if isinstance(tree, exp.Create | exp.Drop) and tree.kind in ("TABLE", "VIEW", "SCHEMA"):
        return f"{tree.key.upper()}_{tree.kind}"
    if isinstance(tree, exp.Alter):
        return "ALTER_TABLE"
    if isinstance(tree, exp.Insert | exp.Update | exp.Delete | exp.Merge):
        return tree.key.upper()
    raise invalid_query(f"Statement not supported: {tree.key.upper()}")


def _qualify(tree: exp.Expr, place: Place) -> None:
    own = {with_.alias_or_name for with_ in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier) or (not table.db and table.name in own):
            continue
        if not table.db and not place.dataset:
            raise invalid_query(
                f'Table "{table.name}" must be qualified with a dataset (e.g. dataset.table).'
            )
        table.set("db", exp.to_identifier(table.db or place.dataset, quoted=True))
        table.set("catalog", exp.to_identifier(table.catalog or place.project, quoted=True))


def _make_numeric_exact(tree: exp.Expr) -> None:
    """Give NUMERIC its 9 decimals (DuckDB has 3), and DIV its whole numbers (DuckDB has floats)."""
    for kind in list(tree.find_all(exp.DataType)):
        if kind.this == exp.DataType.Type.DECIMAL and not kind.expressions:
            kind.replace(exp.DataType.build("DECIMAL(38, 9)", dialect="duckdb"))
    for division in list(tree.find_all(exp.IntDiv)):
        for side in ("this", "expression"):
            division.set(side, exp.cast(division.args[side].copy(), exp.DataType.Type.INT128))


def _rename_parameters(tree: exp.Expr, types: dict[str, str]) -> tuple[str, ...]:
    names: list[str] = []
    for found in list(tree.find_all(exp.Parameter, exp.Placeholder)):
        positional = isinstance(found, exp.Placeholder)
        name = str(len(names)) if positional else found.name.lower()
        if name not in types:
            raise invalid_query(f"Query parameter '{name}' not found")
        bound = exp.Parameter(this=exp.var(f"p{len(names)}"))
        names.append(name)
        found.replace(exp.Cast(this=bound, to=_type(types[name])))
    return tuple(names)


def _widen_numbers(tree: exp.Expr) -> None:
    """NUMERIC has 9 decimals; DuckDB's DECIMAL has 3 if none are named: 0.0004 was 0."""
    for found in tree.find_all(exp.DataType):
        if found.is_type("decimal", "bigdecimal") and not found.expressions:
            found.replace(exp.DataType.build("DECIMAL(38, 9)", dialect="duckdb"))


def _type(spelled: str) -> exp.DataType:
    return _parsed_type(spelled).copy()


@lru_cache(maxsize=64)
def _parsed_type(spelled: str) -> exp.DataType:
    return exp.DataType.build(spelled, dialect="bigquery")


def _target(tree: exp.Expr) -> TableId | None:
    if isinstance(tree, exp.Query):
        return None
    this = tree.this
    table = this if isinstance(this, exp.Table) else this.find(exp.Table) if this else None
    return TableId(table.catalog, table.db, table.name) if table else None


def _options(tree: exp.Expr, sql: str) -> dict[str, Any]:
    if not isinstance(tree, exp.Create):
        return {}
    if tree.find(exp.PrimaryKey, exp.PrimaryKeyColumnConstraint, exp.UniqueColumnConstraint):
        raise invalid_query("Enforcement of PRIMARY KEY and UNIQUE is not supported")
    options: dict[str, Any] = {}
    properties = tree.args.get("properties")
    for found in properties.expressions if properties else ():
        options |= _option(found)
    tree.set("properties", None)
    if tree.kind == "VIEW":
        options["view"] = {"query": _view_query(sql), "useLegacySql": False}
    return options


def _option(found: exp.Expr) -> dict[str, Any]:
    if isinstance(found, exp.PartitionedByProperty):
        column = found.find(exp.Column)
        unit = found.find(exp.Var)
        kind = unit.name.upper() if unit else "DAY"
        return {"timePartitioning": {"type": kind, "field": column.name if column else ""}}
    if isinstance(found, exp.Cluster | exp.ClusterProperty):
        return {"clustering": {"fields": [column.name for column in found.find_all(exp.Column)]}}
    if isinstance(found, exp.Property) and found.name.lower() == "description":
        return {"description": found.args["value"].name}
    return {}


def _view_query(sql: str) -> str:
    tree = sqlglot.parse_one(sql, read="bigquery")
    return str(tree.expression.sql(dialect="bigquery"))
