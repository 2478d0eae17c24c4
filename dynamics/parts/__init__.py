"""Parts of a mechanism: bodies, shapes, joints, couplings, forces and contacts."""
