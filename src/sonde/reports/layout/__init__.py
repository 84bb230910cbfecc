"""What all text reports share: the console, names, call stacks on one line."""
