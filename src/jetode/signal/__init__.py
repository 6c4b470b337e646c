"""What a record shows before any equation: noise, splines, scales, delays, surrogates."""
