"""What went wrong, said in one sentence to the person at the terminal."""


class SondeError(Exception):
    """A failure the user can understand; the command line prints it and exits with `code`."""

    code = 1


class CommandError(SondeError):
    """The command to run was not found (127) or cannot be executed (126), as shells have it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class UsageError(SondeError):
    """The call itself was wrong."""

    code = 2
