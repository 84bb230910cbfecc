"""What runs now, as text."""
