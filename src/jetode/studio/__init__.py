"""The local page: drop a recording, watch the fit, get the report."""
