"""The least noise, or the greatest clip or participation, that keeps a cap on epsilon."""
