"""Text for people: each file renders one view's result, at 80 columns and without colour too."""
