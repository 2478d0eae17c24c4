"""Many runs of one mechanism: ensembles, variants, accuracy."""
