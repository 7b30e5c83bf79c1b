"""Designs on the command line: calibration and the joint problem."""
