"""One interval with contacts: geometry, condensation, Delassus operator, Newton's methods."""
