"""The screen in the terminal, and the keys."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import Input, Static

from sonde.errors import SondeError
from sonde.record.system.procfs import words_of
from sonde.record.targets.process import program_of
from sonde.reports.layout.names import clipped, printable, shortened
from sonde.reports.live import process as report
from sonde.reports.live import tasks as task_report
from sonde.top.rows import Rows, as_text
from sonde.top.screens import Keys, Processes
from sonde.top.states import threads_now
from sonde.top.tasks import TaskWatch
from sonde.top.watched import Watched
from sonde.views.selecting.sources import Sources

if TYPE_CHECKING:
    from sonde.reports.live.process import ThreadNow
    from sonde.views.live import Live

SECOND = 1_000_000_000
WINDOWS_S = (5, 15, 60, 120)
TICK_S = 0.5
SLIDE_S = 2.0
"""How often the screen moves when nothing comes but old samples leave it."""
STATES_S = 1.0
SHARE = 0.04
"""A screen that takes long to draw is drawn less often, so that it takes at most this of a core."""
KEYS = "q quit  / search  s sort  space freeze  l lines  w window  p process  ? help"
RUNTIMES = {"cpython": "CPython", "hotspot": "HotSpot"}

ALL = 0


class Top(App[None]):
    CSS = """
    Screen { layout: vertical; }
    #head, #status { text-wrap: nowrap; text-overflow: ellipsis; }
    #head { height: 4; }
    #functions { height: 5fr; }
    #threads { height: 3fr; }
    #locks { height: 3fr; }
    #tasks { height: 4fr; }
    #status { height: 1; }
    #search { height: 1; border: none; padding: 0; display: none; }
    #search.open { display: block; }
    Rows.hidden, Rows.absent { display: none; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [
        Binding("q,ctrl+c", "quit", "leave", priority=False),
        Binding("slash", "search", "search"),
        Binding("escape", "end_search", "no search"),
        Binding("s", "sort", "sort"),
        Binding("z", "zoom", "zoom"),
        Binding("l", "lines", "lines"),
        Binding("w", "window", "window"),
        Binding("space", "freeze", "freeze"),
        Binding("p", "processes", "process"),
        Binding("question_mark", "keys", "help"),
    ]

    def __init__(self, watched: Watched, window_s: float) -> None:
        super().__init__()
        self.watched = watched
        self.process: int | None = watched.pid
        self.window_s = window_s
        self.frozen = False
        self.by_line = False
        self.search = ""
        self.message = ""
        self.picture: Live | None = None
        self.now: list[ThreadNow] = []
        self.pictures = 0
        """How often one was made."""
        self.tasks = TaskWatch(watched.pid)
        self._program = program_of(words_of(watched.pid))
        self._sorts = {"functions": "self", "threads": "cpu", "locks": "waited", "tasks": "state"}
        self._sources = Sources(None)
        self._pending = True
        self._made = self._stated = 0.0
        self._cost = 0.0
        self._last_of_ended = False
        self._put_before: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        yield Rows("functions")
        yield Rows("threads")
        yield Rows("locks")
        tasks = Rows("tasks")
        tasks.add_class("absent")  # until there are any
        yield tasks
        yield Input(placeholder="search", id="search")
        yield Static(id="status")

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            # Signals are the main thread's; elsewhere somebody else looks after them.
            with contextlib.suppress(ValueError, RuntimeError):
                loop.add_signal_handler(number, self.exit)
        self.query_one("#functions").focus()
        self.set_interval(TICK_S, self.tick)
        self.call_after_refresh(self.tick)

    def on_rows_resized(self) -> None:
        self._draw()

    # ---- time goes on

    def tick(self) -> None:
        """Looks whether anything came, and draws the screen again if so and if it is time."""
        self._pending |= self.watched.poll()
        if self.watched.asked_to_end:
            self.exit()
        now = time.monotonic()
        ended = bool(self.watched.ended)
        if self.frozen:
            self._draw_head()
        elif ended and not self._last_of_ended:
            self._last_of_ended = True
            self._look()
        elif not ended and self._is_time(now):
            self._look()
        elif not ended and self.picture is not None and now >= self._stated + STATES_S:
            self._ask_states()

    def _is_time(self, now: float) -> bool:
        if now < self._made + max(TICK_S * 0.9, self._cost / SHARE):
            return False
        shown = self.picture
        slides = shown is None or shown.flat.samples or shown.locks.rows or shown.threads.rows
        return self._pending or bool(slides and now >= self._made + SLIDE_S)

    def _look(self) -> None:
        began = time.process_time()
        try:
            self.picture = self.watched.look(
                round(self.window_s * SECOND), process=self.process, by_line=self.by_line
            )
        except SondeError as error:
            self.message = str(error)
            return
        self.pictures += 1
        self._pending = False
        self._made = time.monotonic()
        self._ask_states()
        self._draw()
        self._cost = time.process_time() - began

    def _look_again(self) -> None:
        """The same window seen otherwise: what is frozen stays what it was."""
        if self.picture is None:
            return
        with contextlib.suppress(SondeError):
            self.picture = self.watched.look_again(
                self.picture, process=self.process, by_line=self.by_line
            )
        self._draw()

    def _ask_states(self) -> None:
        self._stated = time.monotonic()
        if self.picture is not None:
            self.now = threads_now(self.picture)
            self._draw_threads()
            if self.tasks.look({row.tid: row.name for row in self.now}):
                self._draw_tasks()

    # ---- drawing

    def _draw(self) -> None:
        self._draw_head()
        seen = self.picture
        if seen is None:
            return
        table = self.query_one("#functions", Rows)
        sort = self._sorts["functions"]
        if self.by_line:
            table.show(
                *report.source_lines(seen, table.room, self._sources, sort=sort, search=self.search)
            )
        else:
            table.show(*report.functions(seen, table.room, sort=sort, search=self.search))
        self._draw_threads()
        table = self.query_one("#locks", Rows)
        sort = self._sorts["locks"]
        table.show(*report.locks(seen, table.room, sort=sort, search=self.search))
        self._draw_tasks()

    def _draw_tasks(self) -> None:
        table, seen = self.query_one("#tasks", Rows), self.tasks.seen
        table.set_class(not seen.now.tasks, "absent")
        sort = self._sorts["tasks"]
        table.show(*task_report.tasks(seen, table.room, sort=sort, search=self.search))

    def _draw_threads(self) -> None:
        if self.picture is None:
            return
        table = self.query_one("#threads", Rows)
        sort = self._sorts["threads"]
        table.show(
            *report.threads(self.picture, self.now, table.room, sort=sort, search=self.search)
        )

    def _draw_head(self) -> None:
        width = max(self.size.width, 20)
        seen = self.picture
        lines: list[report.Parts] = [[(self.title_line(width), "reverse bold")]]
        if seen is None:
            lines += [["waiting for the first samples"]]
        else:
            lines += report.head(seen, width)
        head = as_text(lines)
        self._put("#head", head)
        said = self.message or self.watched.ended
        status = Text(printable(said) if said else KEYS, style="bold" if said else "dim")
        if self.watched.ended and not self.message:
            status.append("; showing the last snapshot (q quits, p selects another process)")
        self._put("#status", status)

    def _put(self, where: str, text: Text) -> None:
        if self._put_before.get(where) != text.markup:
            self._put_before[where] = text.markup
            self.query_one(where, Static).update(text)

    def title_line(self, width: int) -> str:
        who = "all processes" if self.process is None else f"{self.process}"
        facts = [f"sonde top {who}", printable(self._program)]
        for process in self.picture.processes[:1] if self.picture else []:
            facts += [f"{RUNTIMES.get(process.runtime, process.runtime)} {process.version}"]
        facts += [f"{self.watched.rate} Hz" if self.watched.own else "existing recording"]
        facts += [f"last {self.window_s:g} s"]
        facts += [f"search {self.search!r}"] if self.search else []
        state = "ENDED" if self.watched.ended else "FROZEN" if self.frozen else "live"
        left = shortened("  ".join(fact for fact in facts if fact), max(width - len(state) - 2, 8))
        return f" {left:<{max(width - len(state) - 2, 0)}}{state} "

    # ---- keys

    def action_sort(self) -> None:
        table = self._used()
        sorts = {
            "functions": report.FUNCTION_SORTS,
            "threads": report.THREAD_SORTS,
            "locks": report.LOCK_SORTS,
            "tasks": task_report.TASK_SORTS,
        }[table]
        place = sorts.index(self._sorts[table])
        self._sorts[table] = sorts[(place + 1) % len(sorts)]
        self._draw()

    def action_zoom(self) -> None:
        used = self._used()
        alone = not any(rows.has_class("hidden") for rows in self.query(Rows))
        for rows in self.query(Rows):
            rows.set_class(alone and rows.id != used, "hidden")

    def action_lines(self) -> None:
        self.by_line = not self.by_line
        self._look_again()

    def action_window(self) -> None:
        longer = [s for s in WINDOWS_S if s > self.window_s]
        self.window_s = longer[0] if longer else WINDOWS_S[0]
        if not self.frozen:
            self._look()
        self._draw_head()

    def action_freeze(self) -> None:
        self.frozen = not self.frozen
        if not self.frozen and not self.watched.ended:
            self._look()
        self._draw_head()

    def action_keys(self) -> None:
        self.push_screen(Keys())

    def action_search(self) -> None:
        search = self.query_one("#search", Input)
        search.add_class("open")
        search.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.search = event.value
        self._draw()

    def on_input_submitted(self) -> None:
        self._leave_search()

    def action_end_search(self) -> None:
        search = self.query_one("#search", Input)
        search.value = self.search = self.message = ""
        self._leave_search()
        self._draw()

    def _leave_search(self) -> None:
        self.query_one("#search").remove_class("open")
        self.query_one("#functions").focus()

    def _used(self) -> str:
        focused = self.focused
        return (focused.id or "functions") if isinstance(focused, Rows) else "functions"

    # ---- another process

    async def action_processes(self) -> None:
        from sonde.record.targets.candidates import candidates, command_of

        recorded = self.picture.processes if self.picture else []
        entries = [
            (p.pid, f"{p.pid:>8}  recorded here  {printable(command_of(p.argv))}")
            for p in recorded
            if p.end_ns is None
        ]
        if len(entries) > 1:
            entries.insert(0, (ALL, f"{'all':>8}  processes of this recording"))
        here = {pid for pid, _ in entries}
        room = max(self.size.width - 8, 20)
        others = await asyncio.to_thread(candidates)
        entries += [
            (c.pid, f"{c.pid:>8}  CPython {c.version}   {printable(c.command)}")
            for c in others
            if c.pid not in here
        ]
        listed = [(pid, clipped(text, room)) for pid, text in entries]
        self.push_screen(Processes(listed), self.switch_to)

    def switch_to(self, pid: int | None) -> None:
        """Shows another process: of this recording if it has it, else it is entered."""
        if pid is None:
            return
        self.message = ""
        recorded = {p.pid for p in self.picture.processes} if self.picture else set()
        if pid == ALL or pid in recorded:
            self.process = None if pid == ALL else pid
            self._look_again()
            return
        try:
            other = Watched(pid, self.watched.what, self.watched.rate)
        except SondeError as error:
            self.message = str(error)
            self._draw_head()
            return
        self.watched.close()
        self.watched, self.process, self.picture = other, pid, None
        self.tasks = TaskWatch(pid)
        self._program = program_of(words_of(pid))
        self._last_of_ended, self._pending = False, True
        self._draw_head()
