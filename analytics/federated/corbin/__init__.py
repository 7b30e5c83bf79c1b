"""CorBin-FL: correlated binary quantizers, their mean squared error, dropout, communication and central privacy."""
