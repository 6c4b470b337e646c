"""Equations with functions that are no polynomials: found in the smoothed record, named, fitted with the path."""
