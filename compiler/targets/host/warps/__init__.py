"""Operations that threads of a block or a warp do together: barriers with results, shuffles, votes and matches."""
