"""Many recordings in one store, and the same questions asked of all of them.

Needs the `fleet` extra; nothing else of sonde imports from here but its verb.
"""
