"""A page of the live queue: forecasts, reasons and the next hours; it reads and never acts."""
