"""What every measurement shares: fingerprints, finished work on disk, workers, the oracle, scores."""
