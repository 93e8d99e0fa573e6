"""Tests of the plugin as a process, without the kernel: /usr/bin/python3 -m unittest, in this directory."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import unittest
from concurrent import futures

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc

import pluginkit
import plugin_pb2 as pb
from agent import ScriptedAgent

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = os.path.join(HERE, "agent-plugin-python")
OPTIONS = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]
REF = pb.ComponentRef(kind=pb.KIND_PROVIDER, name="python")


class PluginTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        environment = {**os.environ, pluginkit.COOKIE[0]: pluginkit.COOKIE[1], "PLUGIN_UNIX_SOCKET_DIR": self.dir.name,
                       "PLUGIN_PROTOCOL_VERSIONS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.plugin = subprocess.Popen([BINARY], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.close)
        core, protocol, network, path, kind, rest = self.plugin.stdout.readline().decode().strip().split("|")
        self.assertEqual((core, protocol, network, kind, rest), ("1", "1", "unix", "grpc", ""))
        self.assertEqual(os.path.dirname(path), self.dir.name)
        self.channel = grpc.insecure_channel("unix:" + path, options=OPTIONS)

    def close(self):
        self.channel.close()
        if self.plugin.poll() is None:
            os.killpg(self.plugin.pid, signal.SIGKILL)
        self.plugin.wait()
        for pipe in (self.plugin.stdin, self.plugin.stdout, self.plugin.stderr):
            pipe.close()

    def unary(self, method, request, response):
        call = self.channel.unary_unary("/agentpipelines.plugin.v1.Plugin/" + method,
                                        request_serializer=request.SerializeToString, response_deserializer=response.FromString)
        return call(request, timeout=30)

    def execute(self, prompt, config=None, then=()):
        """The events of an attempt; then are the kernel's messages after the start."""
        start = pb.ExecuteStart(component=REF, prompt=prompt, config=json.dumps(config or {}).encode(), grace_ms=2000)
        call = self.channel.stream_stream("/agentpipelines.plugin.v1.Provider/Execute",
                                          request_serializer=pb.ExecuteInput.SerializeToString,
                                          response_deserializer=pb.ExecuteEvent.FromString)

        def inputs():
            yield pb.ExecuteInput(start=start)
            yield from then

        return call(inputs(), timeout=60)

    def said(self, events):
        events = list(events)
        self.assertEqual(events[-1].WhichOneof("event"), "result")
        return b"".join(e.output.data for e in events), events[-1].result

    def test_describe_agrees_with_the_argument(self):
        printed = json.loads(subprocess.run([BINARY, "describe"], check=True, capture_output=True).stdout)
        told = self.unary("Describe", pb.DescribeRequest(), pb.DescribeResponse)
        self.assertEqual((told.name, told.version, list(told.protocols)), (printed["name"], printed["version"], printed["protocols"]))
        self.assertEqual(json.loads(told.components[0].config_schema), printed["components"][0]["config_schema"])
        self.assertEqual(told.components[0].provider.usage, pb.REPORTING_ALWAYS)
        self.assertTrue(told.components[0].needs.commands)

    def test_large_messages(self):
        text = "ü" * (30 << 20)
        output, result = self.said(self.execute(text))
        self.assertEqual(output.decode(), text)
        self.assertEqual(result.outcome, pb.OUTCOME_SUCCEEDED)

    def test_a_hundred_calls_at_once(self):
        """None ends before all have begun: each waits for its verdict."""
        begun, go = threading.Semaphore(0), threading.Event()
        steps = {"steps": [{"tool": {"name": "t"}}, {"say": "done"}]}

        def attempt(number):
            events, saved = [], threading.Event()

            def inputs():
                go.wait()
                yield pb.ExecuteInput(verdict=pb.ToolVerdict(call_id="step-1", action=pb.VERDICT_ACTION_RUN))
                saved.wait()  # an answer to a checkpoint that was not sent yet is ignored
                yield pb.ExecuteInput(checkpoint_stored=pb.CheckpointStored(turn=1))

            for event in self.execute(f"prompt {number}", steps, inputs()):
                if event.WhichOneof("event") == "tool_call":
                    begun.release()
                elif event.WhichOneof("event") == "checkpoint":
                    saved.set()
                events.append(event)
            return self.said(events)[0]

        with futures.ThreadPoolExecutor(100) as pool:
            attempts = [pool.submit(attempt, n) for n in range(100)]
            for _ in range(100):
                self.assertTrue(begun.acquire(timeout=60), "not all calls began")
            go.set()
            self.assertEqual({a.result(timeout=60) for a in attempts}, {b"done"})

    def test_cancel_ends_the_command(self):
        child = os.path.join(self.dir.name, "child")
        seen = threading.Event()

        def cancel():
            seen.wait()
            yield pb.ExecuteInput(cancel=pb.Cancel(reason="enough"))

        events = []
        for event in self.execute("", {"steps": [{"run": ["sh", "-c", f"echo $$ >{child}; echo begun; exec sleep 600"]}]}, cancel()):
            if event.WhichOneof("event") == "output":
                seen.set()
            events.append(event)
        _, result = self.said(events)
        self.assertEqual(result.outcome, pb.OUTCOME_FAILED)
        self.assertIn("enough", result.failure.message)
        with open(child) as file:
            self.assertRaises(ProcessLookupError, os.kill, int(file.read()), 0)

    def test_a_goodbye_ends_the_process(self):
        self.unary("Shutdown", pb.ShutdownRequest(), pb.ShutdownResponse)
        self.channel.unary_unary("/plugin.GRPCController/Shutdown")(b"", timeout=30)
        self.assertEqual(self.plugin.wait(timeout=30), 0)
        self.assertEqual(self.plugin.stdout.read(), b"")

    def test_the_end_of_stdin_ends_everything(self):
        child = os.path.join(self.dir.name, "child")
        events = self.execute("", {"steps": [{"run": ["sh", "-c", f"echo $$ >{child}; echo begun; exec sleep 600"]}]})
        next(e for e in events if e.WhichOneof("event") == "output")
        self.plugin.stdin.close()
        self.assertNotEqual(self.plugin.wait(timeout=30), 0)
        with open(child) as file:
            self.assertRaises(ProcessLookupError, os.kill, int(file.read()), 0)

    def test_unknown_component(self):
        request = pb.ValidateRequest(component=pb.ComponentRef(kind=pb.KIND_PROVIDER, name="other"))
        self.assertEqual(self.unary("Validate", request, pb.ValidateResponse).failure.kind, "plugin_invalid")


class AgentTest(unittest.TestCase):
    def test_refuses(self):
        for config in ({"stops": []}, {"steps": {}}, {"steps": ["x"]}, {"steps": [{"run": []}]}, {"steps": [{"say": 1}]},
                       {"steps": [{"tool": {}}]}, {"steps": [{"say": "a", "wait": 1}]}, {"repeat": 0}, {"repeat": True}):
            with self.subTest(config=config), self.assertRaises(pluginkit.Failure):
                ScriptedAgent().validate("", config)

    def test_accepts(self):
        ScriptedAgent().validate("", {"repeat": 2, "steps": [{"say": "a"}, {"run": ["true"]}, {"tool": {"name": "t"}}, {"wait": 0.1}]})


if __name__ == "__main__":
    unittest.main()
