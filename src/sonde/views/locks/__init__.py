"""Locks: contentions, what each lock is called, wait graphs, what holders did."""
