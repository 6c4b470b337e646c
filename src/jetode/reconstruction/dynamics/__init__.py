"""What a model integrates: one file per kind, behind the protocol of :mod:`.base`."""
