"""Many files, each fitted on its own: one table and one page, resumable."""
