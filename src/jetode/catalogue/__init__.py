"""Known systems, their exact closures, observability."""
