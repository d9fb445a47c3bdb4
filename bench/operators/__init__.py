"""The operator suite: forty models of one operator each, and how they were chosen."""
