"""A page of the live queue: forecasts, reasons and the next hours; read-only."""
