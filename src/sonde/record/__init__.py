"""Recording: launch or enter a target, drain its agent, write the file.

The public call `sonde.record("out.sonde", ...)` and this package bear one name. Python
keeps a package as an attribute of its parent, so the package itself is made callable:
whichever of the two a program reached first, both work.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.record.session import Session


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Session:
        from sonde.record.session import Session

        return Session(*args, **options)


sys.modules[__name__].__class__ = _CallableModule
