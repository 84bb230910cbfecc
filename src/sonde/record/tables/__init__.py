"""The rows that an agent's records become."""
