"""What programs put in place of numba's own code: what counts as theirs, and what tells two such changes apart."""
