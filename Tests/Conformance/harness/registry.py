"""The table of all rows: the title, the gateway, and the counters that must increase."""

from dataclasses import dataclass, field
from typing import Callable, NamedTuple


class Skip(Exception):
    """A requirement of a row is missing on this machine; has the reason."""


class Counter(NamedTuple):
    """A line of /metrics, summed over its loops: it has to grow by `least` while the row runs."""

    name: str
    labels: tuple = ()
    least: int = 1

    def __str__(self):
        labels = ",".join(f'{key}="{value}"' for key, value in self.labels)
        return f"{self.name}{{{labels}}}" if labels else self.name

    def value(self, figures):
        """`figures` as Gateway.metrics reads them. A label that is not named may have any value."""
        return sum(number for (name, labels), number in figures.items()
                   if name == self.name and all(labels.get(key) == value for key, value in self.labels))


def fault(stage, reason, least=1):
    return Counter("chirrup_faults_total", (("stage", stage), ("reason", reason)), least)


def closed(code, least=1):
    return Counter("chirrup_closed_total", (("code", str(code)),), least)


def refused(code, least=1):
    return Counter("chirrup_refused_total", (("code", code),), least)


def counts(name, least=1):
    return Counter(f"chirrup_{name}_total", (), least)


@dataclass
class Row:
    """A row of the table: its body, the counters that it must increase, and its limits."""

    id: str
    title: str
    body: Callable
    counters: list
    profile: str = "plain"
    #: The duration of a row that mostly waits; such rows run beside the others, on separate gateways.
    seconds: float = 0
    #: The time limit in seconds on a busy machine, in addition to ten times `seconds`.
    limit: float = 600
    #: The bytes by which anonymous memory may have grown at the end, on a release build.
    memory: int = 1 << 20
    skip: str = ""
    #: For the profile "stage": the options of the row's gateway and PostgreSQL (harness/stage.py).
    stage: dict = field(default_factory=dict)

    @property
    def table(self):
        return self.id[0]


@dataclass
class Registry:
    rows: list = field(default_factory=list)

    def row(self, id, title, *counters, **options):
        def register(body):
            assert all(known.id != id for known in self.rows), f"row {id} is there twice"
            self.rows.append(Row(id, title, body, list(counters), **options))
            return body
        return register

    def skip(self, id, title, reason):
        self.rows.append(Row(id, title, None, [], skip=reason))


registry = Registry()
row = registry.row
skip = registry.skip
