"""A recording as a notebook shows it: the summary, and the web UI in a frame."""

from __future__ import annotations

import html
import io
from functools import cached_property

from sonde.errors import SondeError
from sonde.opened import OpenedRecording
from sonde.views.selecting.formatting import amount
from sonde.views.stacks.chained_samples import open_recording

MAX_VIEW_BYTES = 4 << 20
"""Of the web UI with its recording: a notebook file contains every output."""
WIDTH = 100
FRAME_HEIGHT = 640


class CellProfile(OpenedRecording):
    """What `%%sonde` shows; every view of a recording is a method of it."""

    def __init__(self, path: str, *, top: int | None = None, view: bool = True) -> None:
        super().__init__(open_recording(path))
        object.__setattr__(self, "_top", top)
        object.__setattr__(self, "_view", view)

    @property
    def path(self) -> str:
        return self.tables.path

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>{self._frame}"

    @cached_property
    def _text(self) -> str:
        from sonde.reports import report_of
        from sonde.reports.layout.page import console

        out = io.StringIO()
        top: int | None = vars(self)["_top"]
        summary = self.summary(top=top)
        report_of("summary").render(summary, console(out, WIDTH, styled=False), path=self.path)
        return out.getvalue().strip("\n")

    @cached_property
    def _frame(self) -> str:
        if not vars(self)["_view"]:
            return ""
        from sonde.web.bundle import Bundle
        from sonde.web.html import html as view_of

        try:
            page = view_of([Bundle(self.tables, sources=True)])
        except SondeError as error:
            return f"<p>{html.escape(str(error))}</p>"
        if len(page) > MAX_VIEW_BYTES:
            return (
                f"<p>The web UI of this recording has {amount(len(page))}, too much for a "
                f"notebook. Open it with: <code>sonde view {html.escape(self.path)}</code></p>"
            )
        # In a sandbox without an origin the page can reach neither the notebook nor its server.
        return (
            f'<iframe sandbox="allow-scripts" style="width: 100%; height: {FRAME_HEIGHT}px; '
            f'border: 1px solid #8888" srcdoc="{html.escape(page.decode())}"></iframe>'
        )
