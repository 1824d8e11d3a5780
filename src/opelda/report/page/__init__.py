"""The report page: a self-contained HTML file about a model and documents."""
