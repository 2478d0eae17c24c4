"""Collision detection: near pairs of shapes, planes between two shapes, travelled ways."""
