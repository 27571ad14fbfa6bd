"""
Co-allocation: a window of jobs is matched to nodes at once, by an integer program.

After Soner and Ozturan: IPSCHED (2012) and AUCSCHED 1 to 3 (Soner's thesis, 2016).
"""
