"""The mixture of Gaussians that participation makes: built from a system, evaluated, and hidden devices in it."""
