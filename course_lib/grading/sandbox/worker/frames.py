"""The only language between grader and worker: a frame is a JSON object and some tensors, each with its length.

JSON and safetensors hold data and nothing else. Pickle would run whatever the sender likes inside the receiver.
"""

import json
import os
import struct

import torch
from safetensors import TensorSpec, serialize
from safetensors.torch import load

LENGTHS = struct.Struct("<II")  # bytes of JSON, bytes of tensors
LONGEST_HEAD = 1 << 20


def pack(head: dict, tensors: dict[str, torch.Tensor]) -> bytes:
    """Return one frame; raises what safetensors raises for a tensor of a kind that it does not know."""
    text = json.dumps(head).encode()
    # Not by `safetensors.torch.save`, which takes eight times as long for many small tensors.
    plain = {name: each.contiguous().clone() for name, each in tensors.items()}
    told = {
        name: TensorSpec(
            dtype=str(each.dtype).removeprefix("torch."),
            shape=each.shape,
            data_ptr=each.data_ptr(),
            data_len=each.nbytes,
        )
        for name, each in plain.items()
    }
    body = serialize(told) if told else b""
    return LENGTHS.pack(len(text), len(body)) + text + body


def unpack(text: bytes, body: bytes) -> tuple[dict, dict[str, torch.Tensor]]:
    """Return what a frame holds; raises some exception for anything that is no frame."""
    return json.loads(text), load(body) if body else {}


def read(descriptor: int) -> tuple[dict, dict[str, torch.Tensor]]:
    """Wait for one frame; raises EOFError where the other side has gone."""
    head, body = LENGTHS.unpack(_exactly(descriptor, LENGTHS.size))
    return unpack(_exactly(descriptor, head), _exactly(descriptor, body))


def write(descriptor: int, frame: bytes) -> None:
    """Write a whole frame, however little the pipe takes at a time."""
    rest = memoryview(frame)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _exactly(descriptor: int, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        piece = os.read(descriptor, length - len(received))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)
