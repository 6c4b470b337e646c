"""Latent flows, a prototype: all rows of a quadratic flow learned from one of its three coordinates."""
