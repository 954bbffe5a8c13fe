"""A kernel that only moves bytes: the ceiling that others are held against."""
