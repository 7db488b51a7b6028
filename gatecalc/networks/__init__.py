"""The NumPy network: compiled from the equations, trained, and run as C programs run it."""
