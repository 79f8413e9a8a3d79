import torch


def breaks(x):
    y = torch.ops.broken.graph_break(x)
    torch._dynamo.graph_break()
    return torch.ops.broken.graph_break(y)


def calls_nothing(x):
    return x + 1


def depends_on_size(x):
    y = torch.ops.broken.recompiles(x)
    return y if x.shape[0] > 4 else torch.ops.broken.recompiles(y)
