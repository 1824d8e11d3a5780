"""Topics merged, removed, split and named by people."""
