"""Channels of public systems, measured alike."""
