"""What no scheme can beat: the least error that a privacy guarantee allows; the page on limits has the proofs."""
