"""Models as log densities, one kind a file."""
