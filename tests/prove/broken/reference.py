import traceback
from pathlib import Path


def fine(x, y, n, f):
    return x * n, y * f


def fine_(x, y):
    x += y
    return y * 2


def writes_nothing(x, y):
    return y * 2


def wrong_values(x):
    return x + 1


def fails_when_replayed(x):
    frames = [(Path(frame.filename).name, frame.name) for frame in traceback.extract_stack()]
    if ("acl_graph.py", "run") in frames:
        raise ValueError("not in a replay")
    return x[:, :3] + 1


def called_mode(x, mode):
    x.add_(1)


def identity(x):
    return x.clone()


def root(x):
    if (x < 0).any():
        raise ValueError("x must not be negative")
    return x.sqrt()


def relu_(x):
    x.relu_()
