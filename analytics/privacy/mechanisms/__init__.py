"""Single mechanisms: Gaussian, Laplace, randomized response, discrete pairs, subsampling; each knows both ends of its
privacy curve."""
