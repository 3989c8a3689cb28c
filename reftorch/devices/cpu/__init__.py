"""The CPU: pointwise kernels compiled from scalar formulas.

    engine      kernel(formula, types) -> Kernel, launcher(...): the way in
    backend     the device protocol over it
    geometry    how strided operands are walked together
    threads     set_num_threads, get_num_threads and the helper threads
    frontend    Python -> LLVM by numba, with operation (the table), operators and primitives (its entries)
    elements, casts   types in memory and their conversions
    loops, stream, blocks   the loops around a formula
    entry       the function that Python calls
    pool        the helper threads' code
    native, cache   LLVM's back end, and object code on disk
"""
