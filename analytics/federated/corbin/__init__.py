"""CorBin-FL, federated learning with correlated binary quantizers: error, dropout, communication, privacy."""
