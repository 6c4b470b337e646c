"""Measurements of the method itself: panel, peers, the paper's study, recordings."""
