"""Target processes: find them, and get the agent in."""
