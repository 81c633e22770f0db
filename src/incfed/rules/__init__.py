"""The rulebook: every rule of a federation, declared once and checked once."""
