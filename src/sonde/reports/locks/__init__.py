"""The views of locks as text."""
