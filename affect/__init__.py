"""Pure folds and formulas: mood, appraisal, trends, recall scoring. No clock, no I/O."""
