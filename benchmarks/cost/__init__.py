"""What sonde costs: the program, the recorder, and whoever reads the recording."""
