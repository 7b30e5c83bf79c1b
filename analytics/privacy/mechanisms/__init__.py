"""Single mechanisms (Gaussian, Laplace, randomized response, discrete pairs, subsampling) with bounds of their privacy curves."""
