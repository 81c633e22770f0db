"""The coordinator: rounds as transactions over a database, served over HTTP."""
