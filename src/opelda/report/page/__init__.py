"""The page about a model: what is in it, and how it is written and served."""

from opelda.report.page._live_page import LivePage
from opelda.report.page._write import model_page, write_report

__all__ = ["LivePage", "model_page", "write_report"]
