def fine(x, y, n, f):
    return x * n, y * f


def fine_(x, y):
    x += y
    return y * 2


def writes_nothing(x, y):
    return y * 2


def wrong_values(x):
    return x + 1
