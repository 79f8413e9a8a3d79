def plus_one(x):
    return x + 1


def add_one_(x):
    x += 1


def plus(x, y):
    return x + y


def writes_and_gives(x, y):
    x += y
    return y * 2
