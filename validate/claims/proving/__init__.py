"""Machine proofs of relations: ball arithmetic, branch and bound on boxes, slopes, algebraic rewriting."""
