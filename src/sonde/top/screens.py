"""What opens above the picture: the keys, and the processes that could be watched instead."""

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
 q       leave; the process is left as it was
 /       search: only rows with this text; Enter keeps it, Escape ends it
 s       sort the table in use by its next column
 Tab     use the next table; arrows and page keys scroll it
 z       the table in use alone, or all again
 l       functions or source lines
 w       the window: 5, 15, 60 or 120 seconds
 space   freeze the picture; recording goes on
 p       another process: of this recording, or of this machine
 ?       these keys

self      CPU time in the function itself, of all CPU time in the window
total     the same with everything it called
waiting   share of the window a thread waited, as far as it is recorded
queue     threads that waited for a lock, on average
▁▃█       own time over the last minute, five seconds a mark
had by    whose call chain had the lock while others waited for it
Sure      what the figures stand on, and what speaks against them
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
