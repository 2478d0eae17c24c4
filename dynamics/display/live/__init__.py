"""A model that moves in real time in a browser: `Model.view`."""

from dynamics.display.live.runner import Runner
from dynamics.display.live.server import Live, view

__all__ = ["Live", "Runner", "view"]
