"""The conformance kit: holds implementations of PyTorch's operators against the specification in reftorch."""
