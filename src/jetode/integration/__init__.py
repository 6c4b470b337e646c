"""Running an equation ahead: DOP853, Taylor steps, forecasts, Lyapunov spectra, valid prediction time."""
