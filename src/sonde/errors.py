"""What went wrong, said in one sentence to the person at the terminal."""


class SondeError(Exception):
    """A failure the user can understand; the command line prints it and exits with `code`."""

    code = 1


class UsageError(SondeError):
    """The call itself was wrong."""

    code = 2
