"""Calls: how often, from where, and what inlining would save."""
