"""Calibration of grades, bands and intervals on records of systems that nobody has seen before."""
