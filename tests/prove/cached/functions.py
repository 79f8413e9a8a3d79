import os
import sys


def is_second_process():
    return "second_worker" in sys.argv[0]


def kept(x, n=2):
    return x * n


def other_value(x):
    return x + 1 if is_second_process() else x


def dies(x):
    if is_second_process():
        os.abort()
    return x + 1
