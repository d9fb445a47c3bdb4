import os

from fakes import ENVIRONMENT, PACKAGE, Negation  # noqa: F401


class load(Negation):
    def run(self):
        super().run()
        os.write(1, b"this is not an answer\n")
