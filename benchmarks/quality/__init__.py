"""Topic models beside each other on corpora of every kind."""
