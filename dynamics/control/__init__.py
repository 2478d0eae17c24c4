"""Controllers, inverse dynamics, learning, and Gymnasium environments."""
