"""Systems with one function that is not polynomial, and how often it is found and named."""
