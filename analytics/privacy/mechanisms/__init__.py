"""Single mechanisms: Gaussian, Laplace, randomized response, discrete pairs, subsampling; each gives
lower and upper bounds of its privacy curve."""
