"""The views of calls as text."""
