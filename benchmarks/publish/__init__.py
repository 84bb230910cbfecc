"""Tables and pictures, and where they go in the documentation."""
