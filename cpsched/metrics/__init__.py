"""How good a schedule is, in numbers."""
