"""Equations with functions that are no polynomials: found in the smoothed record, named, fitted jointly with the path."""
