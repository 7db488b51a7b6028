"""Counts: parameters, multiply-accumulates, storage, framework layouts, fair widths."""
