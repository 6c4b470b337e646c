"""The memory closure (docs/mathematics.md §7): an explicit equation for what derivatives cannot carry."""
