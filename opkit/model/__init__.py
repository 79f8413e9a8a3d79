"""The frozen data every part of opkit speaks: operators, rules, cases, diagnostics. Imports no torch."""
