"""A running process, watched in the terminal."""
