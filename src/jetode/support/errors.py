"""The one exception a user meets: a sentence that names the argument, what was found and what would do."""


class InputError(ValueError):
    """Bad input at the edge of the library (an argument, a file, a column); the CLI exits with code 2."""
