"""The paper's method: weak form, null space, closure, choice of degrees."""
