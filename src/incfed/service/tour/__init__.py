"""`incfed up`: a real federation on this machine, over the synthetic world, to look at."""
