"""Damage to files, chosen by a random generator."""

import copy
import io
import json
import pickle
import pickletools
import zipfile
from random import Random

EXTREMES = (0, 1, 2**7, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)
NESTED = "NESTED"  # stands for 100,000 lists in each other, which `json` can't write
VALUES = (
    *(None, True, False, "", "x", "x" * 10_000, [], {}, [[]], [1], {"dim": 1}),
    *(0, 1, -1, 3, 2**31, 10**9, 10**400, 0.5, 1e308),
    *(float("nan"), float("inf"), NESTED),
)
# Of a pickle: containers, numbers and lengths beyond what is there.
OPCODES = (
    *(b"}", b"]", b")", b"(", b"0", b"1", b"2", b"N", b"R", b"b", b"s", b"u", b"t"),
    *(b"\x8f", b"\x90", b"\x91", b"\x81", b"\x92", b"\x93", b"\x94", b"d", b"l", b"Q"),
    *(
        op + b"\xff" * 3 + b"\x7f"
        for op in (b"X", b"B", b"T", b"\x8b", b"r", b"j", b"J")
    ),
    *(op + b"\0" * 5 + b"\1\0\0" for op in (b"\x8d", b"\x8e", b"\x95", b"\x96")),
    *(b"\x8a\x09" + b"\xff" * 8 + b"\0", b"K\1", b"\x82\1", b"cos\nsystem\n"),
)
_HEADERS = (
    0x1950A86A20F9469CFC6C,
    1001,
    {"protocol_version": 1001, "little_endian": True},
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


def mutated_pickles(content: bytes, random: Random) -> bytes:
    """A file of `torch.save` with damaged bytes, or another order of opcodes."""
    if random.random() < 0.3:
        return mutated(content, random)
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        name = next(name for name in files if name.endswith("data.pkl"))
        if random.random() < 0.2:
            name = random.choice(sorted(files))
            files[name] = mutated(files[name], random)
        else:
            files[name] = _with_other_opcodes(files[name], random)
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for name, inner in files.items():
                archive.writestr(name, inner)
        return target.getvalue()
    start = sum(len(pickle.dumps(x, 2)) for x in _HEADERS)
    return content[:start] + _with_other_opcodes(content[start:], random)


def _with_other_opcodes(content, random):
    """A pickle with opcodes that are removed, repeated, exchanged or added."""
    starts = [place for _, _, place in pickletools.genops(content)]
    ends = [*starts[1:], starts[-1] + 1]
    parts = [content[a:b] for a, b in zip(starts, ends)]
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.randrange(1, len(parts))
        match random.choice(("remove", "copy", "swap", "add", "nest")):
            case "remove":
                del parts[place]
            case "copy":
                parts[place:place] = parts[place : place + random.choice((1, 5, 40))]
            case "swap":
                other = random.randrange(1, len(parts))
                parts[place], parts[other] = parts[other], parts[place]
            case "add":
                parts.insert(place, random.choice(OPCODES))
            case "nest":
                parts.insert(place, b")q\xff" + b"0h\xffh\xff\x86q\xff" * 60)
    return b"".join(parts) + content[ends[-1] :]


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
