"""``cpsched sheet``: one page of a what-if study, for whoever decides."""
