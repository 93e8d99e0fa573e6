"""A provider whose agent does what its configuration says, step by step. A real one would ask a model what to do
next; everything around that question is here: output as it comes, progress, usage, commands that can be
cancelled, tool calls that the kernel decides on, checkpoints, failures.
"""

import json
import os

from pluginkit import Failure, Provider

STEPS = {
    "say": "a text to say",
    "run": "a command to run, as a list; the prompt is its input",
    "tool": "a tool call that the kernel decides on: {name, args, effect, command}",
    "wait": "seconds",
    "fail": "a failure: {kind, message, hint, retryable}",
    "crash": "end the process with this exit code",
}

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "steps": {
            "type": "array",
            "description": "What the agent does, one after the other. Default: it says the prompt.",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "minProperties": 1,
                "maxProperties": 1,
                "properties": {
                    "say": {"type": "string"},
                    "run": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                    "tool": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "args": {"type": "object"},
                            "effect": {"enum": ["none", "idempotent", "once"]},
                            "command": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                        },
                    },
                    "wait": {"type": "number", "minimum": 0},
                    "fail": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["message"],
                        "properties": {
                            "kind": {"type": "string"},
                            "message": {"type": "string"},
                            "hint": {"type": "string"},
                            "retryable": {"type": "boolean"},
                        },
                    },
                    "crash": {"type": "integer"},
                },
            },
        },
        "repeat": {"type": "integer", "minimum": 1, "description": "How often each text is said. Default 1."},
    },
}


class ScriptedAgent(Provider):
    """Follows config.steps."""

    def describe(self):
        return {
            "name": "python",
            "summary": "does what its configuration says, step by step",
            "config_schema": SCHEMA,
            "concurrency": "safe",
            "needs": {"commands": True},
            "provider": {
                "locality": "local", "gated_tools": True, "usage": "always", "cost": "never", "resume": True, "soft_cancel": True,
            },
        }

    def validate(self, model, config):
        for key in config:
            if key not in SCHEMA["properties"]:
                raise refused(f"unknown key {key!r}", "known keys: repeat, steps")
        repeat = config.get("repeat", 1)
        if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 1:
            raise refused("repeat is a whole number from 1 on")
        steps = config.get("steps", [])
        if not isinstance(steps, list):
            raise refused("steps is a list")
        for number, step in enumerate(steps, 1):
            check_step(number, step)

    def execute(self, start, attempt):
        config = json.loads(start.config or b"{}")
        self.validate(start.model, config)
        run = Run(start, attempt, config.get("repeat", 1))
        steps = config.get("steps") or [{"say": start.prompt}]
        for number in range(run.done, len(steps)):
            attempt.progress(f"step {number + 1} of {len(steps)}", turn=number + 1)
            run.step(number, steps[number])
            run.done = number + 1
            if len(steps) > 1 and run.done < len(steps):
                attempt.checkpoint(run.done, {"done": run.done, "words": run.words})
        if not attempt.said and not run.acted:  # an agent that did nothing has not succeeded
            return {"outcome": "OUTCOME_EMPTY", "usage": run.usage()}
        run.write_result()
        return {"usage": run.usage(), "agent_version": "python/1.0.0"}


def refused(message, hint=""):
    return Failure("config_invalid", message, hint)


# What each kind of step must be.
SHAPES = {"say": str, "run": list, "tool": dict, "wait": (int, float), "fail": dict, "crash": int}


def check_step(number, step):
    if not isinstance(step, dict) or len(step) != 1:
        raise refused(f"step {number} has one key: {', '.join(STEPS)}")
    (what, value), = step.items()
    if what not in SHAPES:
        raise refused(f"step {number}: unknown key {what!r}", f"known keys: {', '.join(STEPS)}")
    if not isinstance(value, SHAPES[what]) or isinstance(value, bool):
        raise refused(f"step {number}: {what} is {STEPS[what]}")
    commands = [value] if what == "run" else [value["command"]] if what == "tool" and "command" in value else []
    for command in commands:
        if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
            raise refused(f"step {number}: a command is a list of texts")
    if what == "tool" and not isinstance(value.get("name"), str):
        raise refused(f"step {number}: a tool has a name")
    if what == "tool" and value.get("effect", "once") not in ("none", "idempotent", "once"):
        raise refused(f"step {number}: effect is none, idempotent or once")
    if what == "fail" and not isinstance(value.get("message"), str):
        raise refused(f"step {number}: a failure has a message")


class Run:
    """One attempt's way through the steps."""

    def __init__(self, start, attempt, repeat):
        self.start, self.attempt, self.repeat = start, attempt, repeat
        # Where a cut off attempt goes on: the checkpoint, and the calls that were asked for after it.
        saved = json.loads(start.resume.checkpoint.blob or b"{}")
        self.done, self.words = saved.get("done", 0), saved.get("words", 0)
        self.acted = self.done > 0
        self.finished = {r.call.call_id: r.result for r in start.resume.calls if r.HasField("result")}

    def step(self, number, step):
        (what, value), = step.items()
        if what == "say":
            for _ in range(self.repeat):
                self.say(value)
        elif what == "run":
            self.succeed(value)
        elif what == "tool":
            self.tool(f"step-{number + 1}", value)
        elif what == "wait":
            self.attempt.wait(value)
        elif what == "crash":
            os._exit(value)
        else:
            raise Failure(value.get("kind", "provider_failed"), value["message"], value.get("hint", ""), value.get("retryable", False))

    def say(self, text):
        self.words += len(text.split())
        self.attempt.output(text)
        self.attempt.usage(**self.usage())

    def succeed(self, command):
        code = self.attempt.run(command, self.start.prompt)
        if code != 0:
            raise Failure("provider_crashed", f"{command[0]} exited with {code}", "its stderr is in the attempt's directory", True)

    def tool(self, call_id, tool):
        """A call id is the same after a resume, so that the kernel knows the call again."""
        self.acted = True
        if call_id in self.finished:
            return  # it was made, and its result is known
        action, verdict = self.attempt.call(call_id, tool["name"], tool.get("args", {}), tool.get("effect", "once"))
        if action == "run":
            if "command" in tool:
                self.succeed(tool["command"])
            self.attempt.result(call_id, "success", {"made": True})
        elif action == "use":
            self.attempt.result(call_id, "success", json.loads(verdict.result.result or b"null"))
        elif action == "skip":
            self.attempt.result(call_id, "success", None)
        else:
            self.attempt.result(call_id, "denied", {"reason": verdict.reason})
            self.say(f"[{tool['name']} was denied: {verdict.reason}]\n")

    def usage(self):
        """Words, where a model's provider would count tokens."""
        return {"input_tokens": len(self.start.prompt.split()), "output_tokens": self.words}

    def write_result(self):
        """What the stage reads of the agent's work. A question wants no file."""
        path = self.start.paths.result
        if not path or os.path.exists(path):
            return
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"summary": f"{self.words} words said in iteration {self.start.iteration}"}, file)
