"""The native core of cpsched."""



SOURCE_HASH: str = ...

COMPILER: str = ...
