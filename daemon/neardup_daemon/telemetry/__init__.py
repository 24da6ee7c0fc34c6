"""What a running daemon measures and reports of itself."""
