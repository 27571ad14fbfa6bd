"""The command line: parse, call a public function, print."""
