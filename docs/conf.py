"""Sphinx: Markdown pages (MyST) in the furo theme."""

from importlib.metadata import version as installed_version

project = "reftorch"
author = "The reftorch authors"
copyright = f"2026, {author}"
release = version = installed_version("reftorch")

extensions = ["myst_parser"]
myst_heading_anchors = 3  # so that [C2](addcdiv.md#c2) finds its clause
exclude_patterns = ["_build"]
html_theme = "furo"
