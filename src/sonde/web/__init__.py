"""The page: a recording as parts that a browser reads, served on loopback or put into one file."""
