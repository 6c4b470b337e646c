"""What a person sees of a model: report, figures, exports."""
