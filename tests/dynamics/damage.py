"""Damage to the texts of robot files, as by hand or by chance."""

import random
import re

NUMBERS = ("nan", "inf", "-1", "0", "1e400", "1e-300", "1e30", "x", "", "3 4")


def damaged(text, seed):
    """The text with one to four numbers, words or stretches of it changed."""
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 4)):
        kind = draw.random()
        if kind < 0.4:
            one = draw.choice(list(re.finditer(r"-?\d+\.?\d*(e-?\d+)?", text)))
            text = text[: one.start()] + draw.choice(NUMBERS) + text[one.end() :]
        elif kind < 0.7:
            words = list(re.finditer(r"[A-Za-z_:]+", text))
            one, other = draw.choice(words), draw.choice(words)
            text = text[: one.start()] + other.group() + text[one.end() :]
        else:
            start = draw.randrange(len(text))
            text = text[:start] + text[start + draw.randint(1, 60) :]
    return text
