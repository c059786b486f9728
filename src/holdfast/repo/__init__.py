"""What a checkout says of itself."""
