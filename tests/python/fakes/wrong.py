from fakes import ENVIRONMENT, PACKAGE, Negation  # noqa: F401


class load(Negation):
    def outputs(self):
        found = super().outputs()
        found["y"][0, 0] *= 1.01
        return found
