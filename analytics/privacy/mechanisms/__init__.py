"""Single mechanisms: Gaussian, Laplace, randomized response, discrete pairs, subsampling.

Each of them gives lower and upper bounds of its privacy curve.
"""
