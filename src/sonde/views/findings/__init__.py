"""Findings: what a recording shows, each with its evidence."""
