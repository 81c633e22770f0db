"""The protocol between real processes, over HTTPS."""
