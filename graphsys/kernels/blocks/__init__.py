"""Operations on blocks and nodes, made of the functions in `llvm`, and their NumPy twins."""
