"""The connections of a recorder: to agents, to its parent, to whoever controls the session."""
