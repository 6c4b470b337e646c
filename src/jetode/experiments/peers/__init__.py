"""Other ways to forecast the same record."""
