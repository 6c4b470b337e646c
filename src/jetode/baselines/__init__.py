"""Forecasts that know nothing of the system, beside which a model has to hold its own."""
