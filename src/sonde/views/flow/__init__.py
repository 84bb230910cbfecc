"""The call flow: what every call took, of each calling context and in order."""
