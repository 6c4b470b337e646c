"""What every layer may use: errors, whole-file writes, markup, plotting, array types."""
