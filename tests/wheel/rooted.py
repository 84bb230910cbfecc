"""Commands in a root file system of another release, which they leave as it was."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

# In a mount namespace of its own: nothing is mounted once the command has ended.
ENTER = """
mount -t overlay overlay -o lowerdir="$1",upperdir="$2/upper",workdir="$2/work" "$2/merged" &&
mount -t proc proc "$2/merged/proc" && mount --rbind /dev "$2/merged/dev" &&
mkdir -p "$2/merged/given" && mount --bind "$3" "$2/merged/given" &&
user=$4 && root="$2/merged" && shift 4 &&
exec chroot --userspec="$user" "$root" env -i PATH=/usr/bin:/bin HOME=/home/user \
    LC_ALL=C.UTF-8 sh -c 'cd /home/user && exec "$@"' sh "$@"
"""


@dataclass(frozen=True)
class Rooted:
    """What is written stays for the next command, in `scratch`; `given` is /given inside."""

    root: Path
    scratch: Path
    given: Path
    user: int = 0

    @classmethod
    def new(cls, root: Path, scratch: Path, given: Path, user: int = 0) -> Rooted:
        for name in ("upper", "work", "merged", "upper/home", "upper/home/user"):
            (scratch / name).mkdir(parents=True)
        os.chown(scratch / "upper/home/user", user, user)
        return cls(root, scratch, given, user)

    @property
    def home(self) -> Path:
        """The user's folder, seen from here."""
        return self.scratch / "upper/home/user"

    def run(self, *command: str, timeout: int = 240) -> subprocess.CompletedProcess[str]:
        where = [str(self.root), str(self.scratch), str(self.given), f"{self.user}:{self.user}"]
        return subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child",
             "sh", "-c", ENTER, "sh", *where, *command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def check(self, *command: str, timeout: int = 240) -> str:
        done = self.run(*command, timeout=timeout)
        assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
        return done.stdout


def can_enter() -> bool:
    """Whether file systems may be mounted here."""
    command = ["unshare", "--mount", "--pid", "--fork", "true"]
    return os.geteuid() == 0 and not subprocess.run(command, capture_output=True).returncode
