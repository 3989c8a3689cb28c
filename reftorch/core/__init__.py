"""dtype, device, storage, layout, tensor, promotion: what a tensor is, before any operator exists."""
