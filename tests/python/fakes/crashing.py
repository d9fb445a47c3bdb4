import os
import signal

from fakes import ENVIRONMENT, PACKAGE, Negation  # noqa: F401


class load(Negation):
    def run(self):
        super().run()
        if self.calls == 1000:
            os.kill(os.getpid(), signal.SIGSEGV)
