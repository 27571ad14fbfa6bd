"""Jobs that change their size, under any dispatcher: strategies of papers, a model of our own."""
