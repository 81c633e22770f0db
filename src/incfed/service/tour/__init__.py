"""`incfed up`: a real federation on this machine, in a synthetic world."""
