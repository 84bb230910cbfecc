"""`sonde doctor`: what can be recorded on this machine, by which sampler, and why not more."""
