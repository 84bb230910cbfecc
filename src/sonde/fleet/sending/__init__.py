"""Recordings sent to a store or to another tool while others are still being made."""
