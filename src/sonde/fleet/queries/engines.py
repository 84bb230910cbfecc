"""Who answers: DuckDB in this process, or a Spark cluster. Both get the same Ibis expressions."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol

from sonde import optional_packages
from sonde.errors import SondeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sonde.fleet.store.location import Location
    from sonde.fleet.store.parts import Part

DUCKDB = "duckdb"
PARTITIONS = "spark.sql.shuffle.partitions"


class Engine(Protocol):
    def table(self, location: Location, name: str, parts: Sequence[Part]) -> Any:
        """A table of a store as an Ibis expression, of the given parts only."""

    def close(self) -> None: ...


class Duckdb:
    def __init__(self) -> None:
        optional_packages.check("ibis", "duckdb")
        import ibis

        self._connection = ibis.duckdb.connect()
        self._made = 0

    def table(self, location: Location, name: str, parts: Sequence[Part]) -> Any:
        self._made += 1
        view = f"{name}_{self._made}"
        paths = [location.path(part.file(name)) for part in parts]
        if location.is_local:
            return self._connection.read_parquet(
                paths, table_name=view, hive_partitioning=False, union_by_name=True
            )
        # By PyArrow, which knows the way there: DuckDB would have to fetch an extension first.
        import pyarrow.dataset as ds

        from sonde.fleet.store.schema import TABLES

        found = ds.dataset(paths, schema=TABLES[name], format="parquet", filesystem=location.system)
        self._connection.con.register(view, found)
        return self._connection.table(view)

    def close(self) -> None:
        self._connection.disconnect()


class Spark:
    def __init__(self, address: str) -> None:
        optional_packages.check("ibis")
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise SondeError(
                "--engine spark://… needs PySpark of the cluster's version: pip install pyspark"
            ) from None
        import ibis

        builder = SparkSession.builder.appName("sonde fleet").master(address)
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
        }.items():
            builder = builder.config(name, value)
        self._session = builder.getOrCreate()
        # Sums of a store are small; the hundreds of tasks that Spark has for them by default,
        # are not.
        if self._session.conf.get(PARTITIONS) == "200":
            self._session.conf.set(PARTITIONS, "8")
        self._connection = ibis.pyspark.connect(self._session)
        self._views: dict[tuple[str, ...], str] = {}

    def table(self, location: Location, name: str, parts: Sequence[Part]) -> Any:
        paths = tuple(_hadoop(location, part.file(name)) for part in parts)
        view = self._views.get((name, *paths))
        if view is None:
            from pyspark.sql.pandas.types import from_arrow_schema

            from sonde.fleet.store.schema import TABLES

            view = self._views[name, *paths] = f"{name}_{len(self._views)}"
            # What the columns are is known: to look for it is a job for the cluster each time.
            reader = self._session.read.schema(from_arrow_schema(TABLES[name]))
            reader.parquet(*paths).createOrReplaceTempView(view)
        return self._connection.table(view)

    def close(self) -> None:
        self._session.stop()


def _hadoop(location: Location, file: str) -> str:
    """A path as Spark's workers know it."""
    if location.is_local:
        return f"file://{location.path(file)}"
    scheme = location.address.partition("://")[0]
    return f"{'s3a' if scheme == 's3' else scheme}://{location.path(file)}"


@contextlib.contextmanager
def engine(name: str) -> Iterator[Engine]:
    """The engine of this name, for as long as it is needed."""
    made: Engine
    if name == DUCKDB:
        made = Duckdb()
    elif name.startswith(("spark://", "local")):
        made = Spark(name)
    else:
        raise UsageError(f"invalid --engine {name!r}; give duckdb or spark://HOST:PORT")
    try:
        yield made
    finally:
        made.close()
