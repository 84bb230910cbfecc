"""Questions of a heap snapshot: what fills it, and what keeps it alive."""
