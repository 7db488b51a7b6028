"""Model files, read without running anything in them."""
