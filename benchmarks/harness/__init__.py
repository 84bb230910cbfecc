"""How it is measured: conditions in turns, paired figures, interpreters, other profilers."""
