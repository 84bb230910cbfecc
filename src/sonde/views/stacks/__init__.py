"""Call stacks: profiles, trees, tables by function and by line, and their differences."""
