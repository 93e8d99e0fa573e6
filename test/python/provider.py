"""A provider in Python: evidence that the plugin protocol needs nothing of Go.

Start it as the kernel does, or with the argument "describe". PYTHONPATH must hold the code that
protoc generated from plugin.proto; the Go test beside this file makes both.
"""

import json
import os
import queue
import signal
import stat
import sys
import tempfile
import threading
from concurrent import futures

import grpc

from agentpipelines.plugin.v1 import plugin_pb2 as pb
from agentpipelines.plugin.v1 import plugin_pb2_grpc as rpc

COOKIE = ("AGENT_PIPELINES_PLUGIN_COOKIE", "7d8d9c1b5a1e4e0f9a55c7a2b6f4d3e8")
LIMIT = 64 << 20
HEARTBEAT_SECONDS = 5

DESCRIPTION = {
    "name": "python",
    "version": "1.0.0",
    "protocols": [1],
    "sdk": "none",
    "mtls": False,
    "components": [
        {"kind": "provider", "name": "snake", "concurrency": "safe", "provider": {"locality": "local", "gated_tools": True}}
    ],
}


class Plugin(rpc.PluginServicer):
    def Describe(self, request, context):
        component = pb.Component(
            kind=pb.KIND_PROVIDER,
            name="snake",
            concurrency=pb.CONCURRENCY_SAFE,
            provider=pb.ProviderTraits(locality=pb.LOCALITY_LOCAL, gated_tools=True),
        )
        return pb.DescribeResponse(name="python", version="1.0.0", protocols=[1], sdk="none", components=[component])

    def Init(self, request, context):
        return pb.InitResponse()

    def Validate(self, request, context):
        try:
            json.loads(request.config or b"{}")["forbidden"]
        except KeyError:
            return pb.ValidateResponse()
        except (TypeError, ValueError) as error:
            return pb.ValidateResponse(failure=refusal(f"no configuration: {error}"))
        return pb.ValidateResponse(failure=refusal("forbidden is forbidden"))

    def Health(self, request, context):
        return pb.HealthResponse()

    def Shutdown(self, request, context):
        return pb.ShutdownResponse()


def refusal(message):
    return pb.Failure(kind="config_invalid", message=message)


class Provider(rpc.ProviderServicer):
    """One attempt: a thread works, another listens, and Execute yields what they put in the queue."""

    def Execute(self, inputs, context):
        start = next(m.start for m in inputs if m.HasField("start"))
        if start.prompt == "raise":
            raise RuntimeError("an exception in the provider")
        events, cancelled, verdicts = queue.Queue(), threading.Event(), queue.Queue()
        threading.Thread(target=listen, args=(inputs, cancelled, verdicts), daemon=True).start()
        threading.Thread(target=work, args=(start, events, cancelled, verdicts), daemon=True).start()
        while True:
            try:
                event = events.get(timeout=HEARTBEAT_SECONDS)
            except queue.Empty:
                event = pb.ExecuteEvent(heartbeat=pb.Heartbeat())
            yield event
            if event.HasField("result"):
                return


def listen(inputs, cancelled, verdicts):
    try:
        for m in inputs:
            if m.HasField("cancel"):
                cancelled.set()
            elif m.HasField("verdict"):
                verdicts.put(m.verdict)
    except grpc.RpcError:
        cancelled.set()


def work(start, events, cancelled, verdicts):
    result = pb.ExecuteResult(outcome=pb.OUTCOME_SUCCEEDED)
    if start.prompt == "sleep":
        events.put(pb.ExecuteEvent(output=pb.OutputChunk(data=b"sleeping")))
        cancelled.wait()
        result = pb.ExecuteResult(outcome=pb.OUTCOME_FAILED)
        result.failure.CopyFrom(pb.Failure(kind="provider_failed", message="cancelled"))
    elif start.prompt == "ask":
        call = pb.ToolCall(call_id="1", tool="write", args=b'{"path": "a"}', effect=pb.EFFECT_ONCE)
        events.put(pb.ExecuteEvent(tool_call=call))
        verdict = verdicts.get()
        result.output = b"the kernel said " + pb.VerdictAction.Name(verdict.action).encode()
    else:
        result.output = start.prompt.encode()
    events.put(pb.ExecuteEvent(result=result))


def end_with_the_kernel():
    """The kernel holds the other end of stdin, a pipe, and never writes: end of file is its end."""
    if not stat.S_ISFIFO(os.fstat(0).st_mode):
        return  # a terminal or /dev/null, of a host that does not do so
    while sys.stdin.buffer.read(1):
        pass
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def serve():
    if os.environ.get(COOKIE[0]) != COOKIE[1]:
        sys.exit("agent-plugin-python is a plugin of agent-pipelines, which starts it when a pipeline needs it.")
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=32),
        options=[("grpc.max_receive_message_length", LIMIT), ("grpc.max_send_message_length", LIMIT)],
    )
    rpc.add_PluginServicer_to_server(Plugin(), server)
    rpc.add_ProviderServicer_to_server(Provider(), server)
    directory = tempfile.mkdtemp(dir=os.environ.get("PLUGIN_UNIX_SOCKET_DIR"))
    path = os.path.join(directory, "socket")
    server.add_insecure_port("unix:" + path)
    server.start()
    for name in list(os.environ):
        if name.startswith("PLUGIN_") or name == COOKIE[0]:
            del os.environ[name]
    print(f"1|1|unix|{path}|grpc|", flush=True)
    threading.Thread(target=end_with_the_kernel, daemon=True).start()
    server.wait_for_termination()


if __name__ == "__main__":
    if sys.argv[1:] == ["describe"]:
        print(json.dumps(DESCRIPTION))
    else:
        serve()
