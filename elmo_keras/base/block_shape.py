"""How recurrent matrices are stored in blocks, see `layers.blocked_weights`."""

# Measured with 1 to 512 rows and matrices from 64 × 256 to 512 × 16384, in float32
# and bfloat16.
WIDTH, DEPTH = 64, 1024
SMALLEST = 2**21  # size of the smallest matrix that is divided


def block_shape(depth: int, width: int) -> tuple[int, int, int, int]:
    if depth * width < SMALLEST:
        return 1, 1, depth, width
    deep = depth // DEPTH if depth % DEPTH == 0 else 1
    wide = width // WIDTH if width % WIDTH == 0 else 1
    return deep, wide, depth // deep, width // wide
