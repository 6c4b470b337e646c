"""From a record to a model: evidence, verdict, model, forecasts."""
