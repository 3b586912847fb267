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
DAMAGES = "flip flip cut remove copy number number fill insert".split()


def mutated(content: bytes, random: Random) -> bytes:
    """The content with one to four damages."""
    content = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 4))):
        _damage(content, random)
    return bytes(content)


def _damage(content, random):
    start, other = (random.randrange(max(1, len(content))) for _ in range(2))
    size = random.choice((1, 4, 8, 16, 64, 512))
    piece = slice(start, start + size)
    match random.choice(DAMAGES):
        case "flip":
            for _ in range(random.choice((1, 1, 3, 20)) if content else 0):
                content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        case "cut":
            del content[start:]
        case "remove":
            del content[piece]
        case "copy":
            content[piece] = content[other : other + size]
        case "number":  # an extreme one, or a little larger or smaller
            size = random.choice((1, 2, 4, 8))
            n = int.from_bytes(content[start : start + size], "little")
            n = random.choice((*EXTREMES, n + 1, n - 1, n * 2, n + 8)) % 256**size
            content[start : start + size] = n.to_bytes(size, "little")
        case "fill":
            content[piece] = random.choice((b"\0", b"\xff")) * size
        case "insert":
            content[start:start] = random.randbytes(size)


def mutated_json(content: bytes, random: Random) -> bytes:
    """JSON with some values replaced or removed, or damaged bytes."""
    if random.random() < 0.3:
        return mutated(content, random)
    tree = json.loads(content)
    for _ in range(random.choice((1, 1, 2, 3))):
        if places := list(_places(tree)):
            node, key = random.choice(places)
            if random.random() < 0.2:
                del node[key]
            else:  # copied: a shared list would be changed later, or put into itself
                node[key] = copy.deepcopy(random.choice(VALUES))
    text = json.dumps(tree)
    return text.replace(f'"{NESTED}"', "[" * 100_000 + "]" * 100_000).encode()


def _places(node):
    """Each object and list of a tree of JSON, with each key in it."""
    for key in node if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


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
