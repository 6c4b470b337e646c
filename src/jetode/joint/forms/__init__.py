"""Forms of the equation that the search tries: a file is a form, found by being here (see ``registry``)."""
