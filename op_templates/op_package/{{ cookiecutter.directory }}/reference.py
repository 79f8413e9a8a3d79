"""What the operator computes, on CPU tensors: the values that captured graphs are compared with.

The body is a placeholder that runs and lets every tensor, number and text count. Put the real
formula here.
"""


{{ cookiecutter._reference -}}
