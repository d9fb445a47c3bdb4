from fakes import ENVIRONMENT, PACKAGE, Negation  # noqa: F401

load = Negation
