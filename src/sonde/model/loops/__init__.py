"""What suspended tasks wait for."""
