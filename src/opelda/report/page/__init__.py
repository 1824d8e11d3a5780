"""The report page: a self-contained HTML file about a model and documents."""

from opelda.report.page._live_page import LivePage
from opelda.report.page._write import model_page, write_report

__all__ = ["LivePage", "model_page", "write_report"]
