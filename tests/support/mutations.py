"""Damage to files, chosen by a random generator."""

import copy
import io
import json
import zipfile
from random import Random

EXTREMES = (0, 1, 2**7, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)
NESTED = "NESTED"  # stands for 100,000 lists in each other, which `json` can't write
VALUES = (
    *(None, True, False, "", "x", "x" * 10_000, [], {}, [[]], [1], {"dim": 1}),
    *(0, 1, -1, 3, 2**31, 10**9, 10**400, 0.5, 1e308),
    *(float("nan"), float("inf"), NESTED),
)


def mutated(content: bytes, random: Random) -> bytes:
    """The content with one to four damages."""
    for _ in range(random.choice((1, 1, 2, 4))):
        content = random.choice(DAMAGES)(bytearray(content), random)
    return bytes(content)


def flip(content, random):
    """Some bits are inverted."""
    for _ in range(random.choice((1, 1, 3, 20)) if content else 0):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return content


def cut(content, random):
    """The end is missing."""
    return content[: random.randrange(len(content) + 1)]


def remove(content, random):
    """A piece is missing."""
    start, size = place(content, random)
    del content[start : start + size]
    return content


def exchange(content, random):
    """A piece is another one's copy."""
    start, size = place(content, random)
    other, _ = place(content, random)
    content[start : start + size] = content[other : other + size]
    return content


def extreme(content, random):
    """A number has an extreme value, or is a little larger or smaller."""
    size = random.choice((1, 2, 4, 8))
    start = random.randrange(max(1, len(content) - size))
    number = int.from_bytes(content[start : start + size], "little")
    number = random.choice((*EXTREMES, number + 1, number - 1, number * 2, number + 8))
    content[start : start + size] = (number % 256**size).to_bytes(size, "little")
    return content


def fill(content, random):
    """A piece is all zeros or all ones."""
    start, size = place(content, random)
    content[start : start + size] = random.choice((b"\0", b"\xff")) * size
    return content


def insert(content, random):
    """A piece is put in between."""
    start, size = place(content, random)
    content[start:start] = random.randbytes(size)
    return content


def place(content, random):
    """A start, and a size that is mostly small."""
    size = random.choice((1, 4, 8, 16, 64, 512))
    return random.randrange(max(1, len(content))), size


DAMAGES = (flip, flip, cut, remove, exchange, extreme, extreme, fill, insert)


def mutated_json(content: bytes, random: Random) -> bytes:
    """JSON with some values replaced, removed or doubled, or damaged bytes."""
    if random.random() < 0.3:
        return mutated(content, random)
    tree = json.loads(content)
    for _ in range(random.choice((1, 1, 2, 3))):
        change_value(tree, random)
    text = json.dumps(tree)
    return text.replace(f'"{NESTED}"', "[" * 100_000 + "]" * 100_000).encode()


def change_value(tree, random):
    """Replaces or removes a value somewhere in a tree of JSON."""
    places = []
    todo = [tree]
    while todo:
        node = todo.pop()
        keys = node if isinstance(node, dict) else range(len(node))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list):
                todo.append(node[key])
    if not places:
        return
    node, key = random.choice(places)
    if random.random() < 0.2:
        del node[key]
    else:
        # Copied: a shared list would be changed later on, or put into itself.
        node[key] = copy.deepcopy(random.choice(VALUES))


def mutated_zip(content: bytes, random: Random) -> bytes:
    """A zip that is damaged, or sound with a damaged file in it."""
    if random.random() < 0.5:
        return mutated(content, random)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice(sorted(files))
    damage = mutated_json if name.endswith(".json") else mutated
    files[name] = damage(files[name], random)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", random.choice((0, 8))) as archive:
        for name, inner in files.items():
            archive.writestr(name, inner)
    return target.getvalue()
