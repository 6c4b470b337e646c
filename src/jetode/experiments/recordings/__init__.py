"""Recordings of a folder: jetode, its peers and the baselines from the same past, into what nobody has seen."""
