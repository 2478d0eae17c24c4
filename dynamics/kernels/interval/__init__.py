"""One interval without contacts: predictor, residual, matrix and Newton's method."""
