"""The command line: `commands` has one file per command, found by its name.

A command is a module with a function of the module's name, or of `verb` where
that name is taken by Python; its parameters are Typer's. One that has commands of its own has a
Typer `app` instead. Commands import what they need inside their function, so that starting
one never pays for another. `shared` is what several commands need.
"""
