"""A module that takes the place of `ray`: its actors work in this process.

It shows what a job does when workers end, without the processes of a cluster.
"""

import sys
import types

NODE = {"Alive": True, "Resources": {"CPU": 2.0}}


class RayError(Exception):
    pass


class RayTaskError(RayError):
    """An error that a worker raised."""

    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause, self.ip = cause, "10.0.0.7"


class Actor:
    """A worker: calls of its methods wait until somebody waits for them."""

    def __init__(self, instance):
        self.instance, self.alive = instance, True

    def __getattr__(self, name):
        return types.SimpleNamespace(remote=lambda *given: Task(self, name, given))


class Task:
    """A call of an actor's method."""

    def __init__(self, actor, name, given):
        self.actor, self.name, self.given = actor, name, given
        self.result, self.error = None, None

    def run(self, ends):
        if not self.actor.alive or ends(self):
            self.actor.alive = False
            self.error = RayError("the worker has ended")
            return
        try:
            self.result = getattr(self.actor.instance, self.name)(*self.given)
        except Exception as error:
            self.error = RayTaskError(error)


class StandInRay(types.ModuleType):
    """The part of `ray` that jobs use."""

    ObjectRef, WORKER_MODE = Task, 1

    def __init__(self):
        super().__init__("ray")
        self.exceptions = types.ModuleType("ray.exceptions")
        self.exceptions.RayError = RayError
        self.exceptions.RayTaskError = RayTaskError
        self.ends = lambda task: False  # whether its worker ends in it
        self.actors, self.tasks = [], []  # all that were started, and run
        self.nodes_alive = [NODE]

    def install(self, monkeypatch):
        """Takes the place of `ray` in all modules that import it."""
        monkeypatch.setitem(sys.modules, "ray", self)
        monkeypatch.setitem(sys.modules, "ray.exceptions", self.exceptions)
        for name in "ray_job", "worker_pool", "cluster":
            module = f"elmo_keras.embed.on_ray.{name}"
            # Imported again, with this module, and once more after the test.
            monkeypatch.setitem(sys.modules, module, None)
            del sys.modules[module]

    def is_initialized(self):
        return True

    def get_runtime_context(self):
        return types.SimpleNamespace(worker=types.SimpleNamespace(mode=0))

    def nodes(self):
        return self.nodes_alive

    def remote(self, **_):
        def decorated(kind):
            def start(*arguments, **kwargs):
                self.actors.append(Actor(kind(*arguments, **kwargs)))
                return self.actors[-1]

            return types.SimpleNamespace(remote=start)

        return decorated

    def wait(self, tasks, timeout):
        tasks[0].run(self.ends)
        self.tasks.append(tasks[0])
        return tasks[:1], tasks[1:]

    def get(self, task):
        if task.error is not None:
            raise task.error
        return task.result

    def kill(self, actor):
        actor.alive = False
