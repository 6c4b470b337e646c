"""Equations as data: polynomials, rational and regular closures, vector fields, equilibria."""
