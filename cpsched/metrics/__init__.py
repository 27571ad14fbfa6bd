"""How good a schedule is, in numbers; and whether it is a schedule at all."""
