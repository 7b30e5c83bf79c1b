"""The least noise, the greatest clip or the greatest participation that keeps a cap on epsilon."""
