"""The entry point that pytest loads: options, the mark, and what a run needs of the rest.

Loaded in every test run of an environment that has sonde, so it imports little.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from sonde import _inside
from sonde.errors import SondeError

from .options import MARK_HELP, RunOptions, add_options, run_options

if TYPE_CHECKING:
    from .recorded_run import RecordedRun
    from .results import RunResults

KEY = "sonde"
"""Of what a worker gets from the process that started it, and answers."""


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK_HELP)
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    options = RunOptions(**worker[KEY]) if worker and KEY in worker else run_options(config)
    if options is None:
        if _inside._agent is not None:  # under `sonde run`
            from .spans import SpanHooks

            config.pluginmanager.register(SpanHooks(), "sonde-spans")
        return
    if _is_distributed(config):
        config.pluginmanager.register(Controller(options), "sonde-controller")
        return
    from .recorded_run import RecordedRun
    from .spans import SpanHooks

    run = RecordedRun(options, worker["workerid"] if worker else None)
    config.pluginmanager.register(run, "sonde-run")
    config.pluginmanager.register(SpanHooks(), "sonde-spans")
    config.pluginmanager.register(Process(run, options, worker is not None), "sonde-process")


def _is_distributed(config: pytest.Config) -> bool:
    """Whether other processes run the tests, as pytest-xdist decides it."""
    asked = config.getoption("dist", "no") != "no" and config.getoption("tx", None)
    return bool(asked) and not config.getoption("collectonly")


class Process:
    """Ends the recording of a process that runs tests, and passes on what it found."""

    def __init__(self, run: RecordedRun, options: RunOptions, is_worker: bool) -> None:
        self._run = run
        self._options = options
        self._is_worker = is_worker
        self._results: RunResults | None = None

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """After plugins have ended what they started, before results are sent and shown."""
        yield
        if not self._run.stop() and self._run.failure is None:
            return
        try:
            self._results = self._run.results()
        except SondeError as error:
            from .results import RunResults

            self._results = RunResults(failures=[f"no summary of the recording: {error}"])
        if self._is_worker:
            session.config.workeroutput[KEY] = self._results.to_json()  # type: ignore[attr-defined]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._results is not None and not self._is_worker:
            from .results import write

            write(self._results, terminalreporter)


class Controller:
    """Of pytest-xdist: gathers what its workers found."""

    def __init__(self, options: RunOptions) -> None:
        from .results import RunResults

        self._options = options
        self._results = RunResults()
        self._silent: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        from .recorded_run import check_recordable

        check_recordable(self._options)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[KEY] = vars(self._options)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        from .results import RunResults

        found = getattr(node, "workeroutput", {}).get(KEY)
        if found is None:
            self._silent.append(node.gateway.id)
        else:
            self._results.add(RunResults.from_json(found), self._options.top)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from .results import write

        write(self._results, terminalreporter)
        for worker in self._silent:
            terminalreporter.write_line(f"no results from worker {worker}", yellow=True)
