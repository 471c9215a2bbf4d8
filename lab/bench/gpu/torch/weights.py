"""Reads the weights of a GGUF file as float32 arrays."""

import struct

import numpy as np

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class Cursor:
    """Reads typed values one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        piece = self.data[self.at : self.at + count]
        if len(piece) != count:
            raise ValueError("the model file ends too early: it is damaged, pull it again")
        self.at += count
        return piece

    def number(self, letter):
        return struct.unpack("<" + letter, self.take(struct.calcsize("<" + letter)))[0]

    def string(self):
        return bytes(self.take(self.number("Q")))

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            inner, count = self.number("I"), self.number("Q")
            if inner in (STRING, ARRAY):
                return [self.value(inner) for _ in range(count)]
            letter = SCALARS[inner]
            return np.frombuffer(self.take(count * struct.calcsize("<" + letter)), "<" + letter)
        return self.number(SCALARS[kind])


def halves(blocks, at):
    """The float16 at a byte of each block, as a column."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def q4_1(blocks):
    packed = blocks[:, 4:]
    quants = np.concatenate([packed & 15, packed >> 4], axis=1)
    return halves(blocks, 0) * quants + halves(blocks, 2)


def q8_0(blocks):
    return halves(blocks, 0) * np.ascontiguousarray(blocks[:, 2:]).view(np.int8)


def q4_k(blocks):
    low, middle, high = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate([low & 63, (high & 15) | (low >> 6 << 4)], axis=1).astype(np.float32)
    offsets = np.concatenate([middle & 63, (high >> 4) | (middle >> 6 << 4)], axis=1).astype(np.float32)
    packed = blocks[:, 16:].reshape(-1, 4, 32)
    quants = np.stack([packed & 15, packed >> 4], axis=2).reshape(-1, 8, 32)
    scales *= halves(blocks, 0)
    offsets *= halves(blocks, 2)
    return scales[:, :, None] * quants - offsets[:, :, None]


def q6_k(blocks):
    low = blocks[:, :128].reshape(-1, 2, 2, 32)
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32)
    nibbles = np.concatenate([low & 15, low >> 4], axis=2)
    shifts = np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    quants = (nibbles | ((high >> shifts & 3) << 4)).astype(np.int8) - 32
    scales = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8) * halves(blocks, 208)
    return scales[:, :, None] * quants.reshape(-1, 16, 16)


# ggml's number of a type: values of a block, bytes of a block, how to read blocks.
TYPES = {
    0: (1, 4, lambda b: b.view("<f4")),
    1: (1, 2, lambda b: b.view("<f2").astype(np.float32)),
    3: (32, 20, q4_1),
    8: (32, 34, q8_0),
    12: (256, 144, q4_k),
    14: (256, 210, q6_k),
}


def read(path):
    """Metadata (keys as str, strings as bytes) and a function that gives a tensor by name, or None."""
    data = np.memmap(path, np.uint8, "r")
    cursor = Cursor(data)
    if bytes(cursor.take(4)) != b"GGUF" or cursor.number("I") not in (2, 3):
        raise ValueError("not a GGUF file of version 2 or 3")
    tensors, keys = cursor.number("Q"), cursor.number("Q")
    meta = {}
    for _ in range(keys):
        key = cursor.string().decode()
        meta[key] = cursor.value(cursor.number("I"))
    places = {}
    for _ in range(tensors):
        name = cursor.string().decode()
        shape = [cursor.number("Q") for _ in range(cursor.number("I"))]
        places[name] = (shape[::-1], cursor.number("I"), cursor.number("Q"))
    align = meta.get("general.alignment", 32)
    base = -(-cursor.at // align) * align

    def tensor(name):
        if name not in places:
            return None
        shape, kind, offset = places[name]
        if kind not in TYPES:
            raise ValueError(f"tensor {name} has ggml type {kind}; this worker reads types {sorted(TYPES)}: convert the file")
        values, size, decode = TYPES[kind]
        count = int(np.prod(shape)) // values * size
        blocks = np.array(data[base + offset : base + offset + count]).reshape(-1, size)
        return np.ascontiguousarray(decode(blocks), dtype=np.float32).reshape(shape)

    return meta, tensor
