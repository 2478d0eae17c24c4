"""Pictures of mechanisms and motions: curves, animations, and a viewer in the browser."""
