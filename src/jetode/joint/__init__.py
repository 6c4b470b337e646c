"""Coefficients and path fitted jointly in pole-free coordinates."""
