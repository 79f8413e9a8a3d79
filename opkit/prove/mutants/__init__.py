"""Mutants: what opkit generates with one thing wrong, to show that the prover finds it.

A proof is worth what it refuses. Each kind of mutant breaks one thing that a generated Meta kernel,
converter, prototype or schema can have wrong; `opkit prove --self-test` makes every mutant of every operator
and reports which stage killed it. A survivor is a hole in the prover or in the cases.
"""
