"""The views of a store as text."""
