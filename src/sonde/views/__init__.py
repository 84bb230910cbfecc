"""One question per file: a function from a recording to a result that knows its JSON."""
