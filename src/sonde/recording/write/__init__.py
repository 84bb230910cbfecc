"""What appends blocks to a file or to memory."""
