"""Segments of one session joined to one recording, or one opened without the others."""
