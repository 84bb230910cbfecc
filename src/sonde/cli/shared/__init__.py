"""What several commands need: options, files to write, progress, the closing message."""
