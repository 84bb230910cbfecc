"""How right the figures are, against truths and against other samplers."""
