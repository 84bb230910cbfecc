"""How targets are sampled: by what, how often, and how well."""
