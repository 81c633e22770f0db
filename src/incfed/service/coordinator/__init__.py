"""The other end: rounds as transactions over a database, served over HTTP."""
