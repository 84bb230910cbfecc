"""What counted calls stand for."""
