"""What opens above the main screen: the keys, and the processes that could be watched instead."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

HELP = """\
 q       quit and detach
 /       search: show only rows with this text; Enter keeps it, Escape ends it
 s       sort the active table by its next column
 Tab     activate the next table; arrows and page keys scroll it
 z       show the active table alone, or all tables
 l       show functions or source lines
 w       change the time window: 5, 15, 60 or 120 seconds
 space   freeze the display; recording continues
 p       select another process: of this recording, or of this machine
 ?       show these keys

self      self time, as a share of all CPU time in the window
total     the same, including callees
waiting   share of the window a thread waited, for the recorded kinds of waits
queue     mean number of threads waiting for a lock
▁▃█       self time over the last minute, five seconds per mark
held by   call stack of the lock holder while others waited for it
Data      number of samples, accuracy, overhead and problems
"""


class Keys(ModalScreen[None]):
    DEFAULT_CSS = """
    Keys { align: center middle; }
    Keys > VerticalScroll { width: 78; height: auto; max-height: 100%; border: solid $foreground; }
    Keys Static { width: 100%; height: auto; }
    """
    BINDINGS: ClassVar = [Binding("escape,q,question_mark,enter,space", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(Text(HELP.rstrip()))


class Processes(ModalScreen[int | None]):
    """A list to choose from: 0 stands for all processes of the recording."""

    DEFAULT_CSS = """
    Processes { align: center middle; }
    Processes OptionList { width: 100%; height: auto; max-height: 90%; border: solid $foreground; }
    """
    BINDINGS: ClassVar = [Binding("escape,q", "dismiss", "close")]

    def __init__(self, entries: list[tuple[int, str]]) -> None:
        super().__init__()
        self._entries = entries

    def compose(self) -> ComposeResult:
        yield OptionList(*(Option(Text(text, no_wrap=True)) for _, text in self._entries))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._entries[event.option_index][0])
