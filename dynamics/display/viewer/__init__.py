"""Motion in a browser: one self-contained HTML page, without a server or a network."""

from dynamics.display.viewer.export import Page, export_html, page_of, show

__all__ = ["Page", "export_html", "page_of", "show"]
