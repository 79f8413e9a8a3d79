def plus_one(x):
    return x + 1


def add_one_(x):
    x += 1


def plus(x, y):
    return x + y


def writes_and_gives(x, y):
    x += y
    return y * 2


def rows(x, n):
    return x[:1].expand(n, 8) + 1


def guarded(x, n, f, sizes):
    return x * n + f * sum(sizes)
