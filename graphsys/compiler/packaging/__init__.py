"""Building wheels with machine code of both packages; run by hatchling, imported by nothing."""
