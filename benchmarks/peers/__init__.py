"""opelda beside other topic-model systems: same documents, same evaluator, one run at a time."""
