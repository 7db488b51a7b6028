"""Derivatives: Jacobians derived, explained, printed, checked and graded."""
