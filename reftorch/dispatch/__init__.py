"""From a call to a kernel: schemas, the registry of operators, the mode stack, and the plan of each call."""
