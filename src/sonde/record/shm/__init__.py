"""The memory shared with an agent: its layout, and what is read from it directly."""
