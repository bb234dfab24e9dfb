"""The Mandelbrot set as a picture: `python 07_mandelbrot.py [FILE.png]`. The PNG is written by hand."""

import struct
import sys
import zlib

import numpy as np

import gridjit
from gridjit import cuda

STEPS = 200


@gridjit.jit(device=True)
def steps_to_escape(c):
    z = c
    for step in range(STEPS):
        if z.real * z.real + z.imag * z.imag > 4:
            return step
        z = z * z + c
    return STEPS


@gridjit.jit
def mandelbrot(picture):
    column, row = cuda.grid(2)
    height, width = picture.shape
    if row < height and column < width:
        c = complex(-2.2 + 3.0 * column / width, -1.2 + 2.4 * row / height)
        picture[row, column] = 255 - 255 * steps_to_escape(c) // STEPS


def png(picture):
    """Return the bytes of a PNG file with grey pixels: three chunks, each with its length and checksum."""
    height, width = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    chunks = (b"IHDR" + struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0), b"IDAT" + zlib.compress(rows), b"IEND")
    framed = (struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def main():
    picture = cuda.device_array((240, 300), np.uint8)
    mandelbrot[(10, 30), (32, 8)](picture)
    pixels = picture.copy_to_host()
    assert pixels[120, 220] == 0, "0 is in the set"
    assert pixels[0, 0] == 255, "the corner is far outside"
    for name in sys.argv[1:]:
        with open(name, "wb") as file:
            file.write(png(pixels))
    print(f"{(pixels == 0).mean():.0%} of the picture is in the set")


if __name__ == "__main__":
    main()
