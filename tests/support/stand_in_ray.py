"""A module that takes the place of `ray`: its tasks run in this process.

It shows what a job does when processes end, without those of a cluster.
"""

import contextlib
import importlib
import sys
import types

NODE = {"Alive": True, "Resources": {"CPU": 2.0}}
MODULE = "elmo_keras.embed.ray"


class RayError(Exception):
    pass


class RayTaskError(RayError):
    """An error that a task raised."""

    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause, self.ip = cause, "10.0.0.7"


class StandInRay(types.ModuleType):
    """The part of `ray` that jobs use."""

    WORKER_MODE, ObjectRef = 1, object

    def __init__(self):
        super().__init__("ray")
        self.exceptions = types.ModuleType("ray.exceptions")
        self.exceptions.RayError = RayError
        self.exceptions.RayTaskError = RayTaskError
        self.ends = lambda name, arguments: False  # whether the task's process ends
        self.finished = []  # the names of tasks
        self.alive = [NODE]

    def is_initialized(self):
        return True

    def get_runtime_context(self):
        return types.SimpleNamespace(worker=types.SimpleNamespace(mode=0))

    def nodes(self):
        return self.alive

    def remote(self, *, max_retries, **_):
        def decorate(function):
            def run(*arguments, **kwargs):
                name = function.__name__
                for _ in range(1 + max_retries):
                    if not self.ends(name, arguments):
                        try:
                            result = function(*arguments, **kwargs)
                        except Exception as error:
                            return RayTaskError(error)
                        self.finished.append(name)
                        return result
                return RayError("the process has ended")

            def start(*arguments, **kwargs):
                return lambda: run(*arguments, **kwargs)

            return types.SimpleNamespace(remote=start)

        return decorate

    def wait(self, tasks, timeout):
        return tasks[:1], tasks[1:]

    def get(self, task):
        result = task()
        if isinstance(result, RayError):
            raise result
        return result


@contextlib.contextmanager
def installed():
    """A stand-in for `ray`, and the module of the package that has imported it."""
    names = "ray", "ray.exceptions", MODULE
    before = {name: sys.modules.pop(name, None) for name in names}
    ray = StandInRay()
    sys.modules |= {"ray": ray, "ray.exceptions": ray.exceptions}
    try:
        yield ray, importlib.import_module(MODULE)
    finally:
        for name in names:
            del sys.modules[name]
        sys.modules |= {name: module for name, module in before.items() if module}
