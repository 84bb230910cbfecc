"""Recordings for language models: a server of the Model Context Protocol."""
