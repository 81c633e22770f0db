"""The evidence of the paper, run again: settings, tables, figures, and what was published."""
