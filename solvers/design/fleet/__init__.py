"""The design of a fleet of wireless devices."""
