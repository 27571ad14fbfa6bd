"""How closely a simulation reproduces what a log recorded."""
