"""From the blocks of a file, damaged ones too, to tables."""
