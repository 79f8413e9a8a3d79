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
    return x[:, :3] + 1


def called_mode(x, mode):
    x.add_(1)
