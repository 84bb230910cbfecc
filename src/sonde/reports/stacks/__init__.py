"""The views of call stacks as text."""
