"""Plain data and its algorithms; knows columns, never a file format."""
