"""The study of the paper, repeated: its tables and figures from one sweep, with the joint fit beside it.

printed (the paper's numbers) → cells (one realization) → tasks, swept by the experiment core → sections → pages.
"""
