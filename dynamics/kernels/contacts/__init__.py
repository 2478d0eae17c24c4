"""One interval with contacts: geometry, condensation, path Newton, interior point, Gauss-Seidel."""
