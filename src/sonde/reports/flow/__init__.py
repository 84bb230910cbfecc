"""The views of the call flow as text."""
