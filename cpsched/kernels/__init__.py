"""The compiled kernels. Every array is int64 and C-contiguous (``eligible`` is bool).

Names used throughout: N nodes, R resource kinds, ``cols`` the job store's columns (one job a row),
``row`` a job's row there, ``shapes`` the store's distinct requests, ``takes`` units put on each
node. Loops instead of array expressions: they run as fast and compile several times faster.
"""
