"""The console: web pages over a ledger and over saved results."""
