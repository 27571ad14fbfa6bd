"""Small tools that know nothing of scheduling: names, words, tables, safe files."""
