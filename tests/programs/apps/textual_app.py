"""A Textual application: a key starts a thread that computes, another one ends it.

What it says is in the file `said`, too: a terminal is sent only what changed.
"""

import os
import pathlib
import sys

from textual.app import App
from textual.widgets import DataTable, Static


def compute(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


class Shop(App):
    BINDINGS = (("c", "count", "Count"), ("q", "leave", "Quit"))

    def compose(self):
        yield Static("starts", id="state")
        yield DataTable()

    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns("n", "square")
        table.add_rows([(n, n * n) for n in range(50)])

    def on_ready(self):
        self.say_when_ready()

    def say_when_ready(self):
        """Keys that come before a widget has the focus may be lost."""
        if self.focused is None:
            self.call_after_refresh(self.say_when_ready)
        else:
            self.say("is ready")

    def on_resize(self, event):
        self.say(f"size={event.size.width}x{event.size.height}")

    def say(self, text):
        with open("said", "a") as f:
            f.write(f"{text}\n")
        self.query_one("#state", Static).update(text)

    def action_count(self):
        self.run_worker(self.count, thread=True)

    def count(self):
        total = compute(3_000_000)
        self.call_from_thread(self.say, f"counted={total}")

    def action_leave(self):
        self.exit("left", return_code=4)


if __name__ == "__main__":
    app = Shop()
    pathlib.Path("pid").write_text(str(os.getpid()))
    print("result", app.run())
    sys.exit(app.return_code)
