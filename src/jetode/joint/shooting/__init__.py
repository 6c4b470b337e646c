"""Multiple shooting: layout, compiled kernels, Gauss–Newton, annealing."""
