"""Plugins for other tools: what they load to record with sonde. Each needs only its own tool."""
