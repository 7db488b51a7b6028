"""Documents and packs: what they claim, and what holds."""
