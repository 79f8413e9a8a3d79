"""What any program may do on the stand-in: several devices, workers and children. Run by test_anywhere.py."""

from __future__ import annotations

import os
import sys

import pytest
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(index))


def on_a_device(rank: int, queue) -> None:
    queue.put((rank, (torch.ones(2, device=f"npu:{rank}") + rank).tolist()))


def spawned() -> None:
    context = mp.get_context("spawn")
    queue = context.SimpleQueue()
    children = [context.Process(target=on_a_device, args=(rank, queue)) for rank in (0, 1)]
    for child in children:
        child.start()
    found = dict(queue.get() for _ in children)
    for child in children:
        child.join()
    assert found == {0: [1.0, 1.0], 1: [2.0, 2.0]}, found


def forked() -> None:
    """A child forked before the device is used may use it; torch refuses one that is forked later."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = str((torch.ones(2).npu() * 3).tolist())
        except BaseException as error:
            text = repr(error)
        os.write(writing, text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reading, 10000).decode()
    assert said == "[3.0, 3.0]", said


def workers() -> None:
    for context in ("fork", "spawn"):
        loader = DataLoader(
            Rows(), batch_size=2, num_workers=2, pin_memory=True, multiprocessing_context=context
        )
        total = sum((batch.npu(non_blocking=True) * 2).sum().item() for batch in loader)
        assert total == 60.0, (context, total)


def devices() -> None:
    assert torch.npu.device_count() == 2
    a, b = torch.ones(3, device="npu:0"), torch.ones(3, device="npu:1")
    assert (b + 1).device == torch.device("npu:1")
    assert torch.npu.current_device() == 0
    for wrong in (lambda: a + b, lambda: torch.ones(1, device="npu:2"), lambda: torch.cat([a, b])):
        with pytest.raises(RuntimeError, match=r"(?i)device"):
            wrong()
    b.copy_(a * 5)
    assert b.to("npu:0").tolist() == [5.0] * 3
    with torch.npu.device(1):
        graph, x = torch.npu.NPUGraph(), torch.ones(2, device="npu:1")
        with torch.npu.graph(graph):
            y = x + 1
        x.fill_(4)
        graph.replay()
        assert y.tolist() == [5.0, 5.0]
        torch.npu.synchronize()


if __name__ == "__main__":
    forked()
    devices()
    workers()
    spawned()
    print("all done", sys.argv[1:])
