"""USD files: their rigid bodies, joints and colliders (UsdPhysics), parsed by OpenUSD itself."""

from dynamics.io.usd.reader import read_usd

__all__ = ["read_usd"]
