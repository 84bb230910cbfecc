"""The command line: one file per verb, found by its name.

A verb is a module of this package with a function of the module's name, or of `verb` where
that name is taken by Python; its parameters are Typer's. One that has verbs of its own has a
Typer `app` instead. Modules whose names begin with an
underscore are no verbs. Verbs import what they need inside their function, so that starting
one never pays for another.
"""
