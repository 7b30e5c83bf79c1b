"""Design of a fleet of wireless devices."""
