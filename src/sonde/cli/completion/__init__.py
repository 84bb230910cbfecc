"""Completion in shells: what the parser knows (`words`), written as a script for each of them."""
