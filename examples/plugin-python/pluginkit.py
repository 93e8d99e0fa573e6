"""What every plugin in Python needs and no plugin wants to write twice: the handshake, the services, the life
and death of the process, its log, and the conversation of an attempt.

An author writes a Provider and calls main(Plugin(...)). This module needs grpcio and protobuf, nothing else, and
may be copied. docs/writing-a-plugin-in-another-language.md explains each of the steps for any language.
"""

import json
import os
import queue
import signal
import stat
import subprocess
import sys
import threading
import time
import traceback
from concurrent import futures
from datetime import datetime, timezone

COOKIE = ("AGENT_PIPELINES_PLUGIN_COOKIE", "7d8d9c1b5a1e4e0f9a55c7a2b6f4d3e8")
LOG_LEVEL = "AGENT_PIPELINES_PLUGIN_LOG_LEVEL"
PROTOCOL = 1
MAX_MESSAGE = 64 << 20  # bytes, both ways; gRPC's own limit is 4 MiB
CHUNK = 1 << 20  # bytes of output in one message
HEARTBEAT = 4.0  # seconds; the kernel wants to hear something every 5
GRACE = 2.0  # seconds from the kernel's end, or SIGTERM, to ours
CALLS = 300  # at once; further ones wait

# Must be set before grpc is imported: without it every start of a child makes gRPC complain on stderr.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


class Failure(Exception):
    """What the kernel is told of something that went wrong. Kinds: docs/plugin-protocol.md."""

    def __init__(self, kind, message, hint="", retryable=False, retry_after=0.0, detail=""):
        super().__init__(message)
        self.kind, self.message, self.hint = kind, message, hint
        self.retryable, self.retry_after, self.detail = retryable, retry_after, detail


class Cancelled(Failure):
    """The attempt is to end: the kernel does not want it any more, or the plugin ends, after which it may be made again."""

    def __init__(self, reason):
        super().__init__("provider_failed", "cancelled: " + (reason or "the kernel asked for it"), retryable=True)


class Provider:
    """One provider. execute is called from many threads at once, unless describe says concurrency serial."""

    def describe(self):
        """The component as in `describe`'s JSON, without its kind."""
        raise NotImplementedError

    def init(self, work_dir):
        """Called once before anything else; work_dir is the project."""

    def validate(self, model, config):
        """Raises Failure("config_invalid", ...) for what execute would not accept. config is a dict."""

    def execute(self, start, attempt):
        """Makes one attempt and returns the fields of ExecuteResult as a dict. start is the protocol's ExecuteStart."""
        raise NotImplementedError


class Plugin:
    """A plugin with its providers. The name is what follows agent-plugin-."""

    def __init__(self, name, version, providers):
        self.name, self.version = name, version
        self.providers = {p.describe()["name"]: p for p in providers}

    def describe(self):
        components = [dict(p.describe(), kind="provider") for _, p in sorted(self.providers.items())]
        return {
            "name": self.name, "version": self.version, "protocols": [PROTOCOL], "sdk": "python", "mtls": False,
            "components": components,
        }


# ---- The log: JSON lines on stderr, as hclog writes them.

LEVELS = ["trace", "debug", "info", "warn", "error", "off"]
_log_lock = threading.Lock()


def log(level, message, **fields):
    """Writes one line. Never log a secret or a prompt: the kernel takes out what it knows for a secret, not more."""
    wanted = os.environ.get(LOG_LEVEL, "info")
    if LEVELS.index(level) < (LEVELS.index(wanted) if wanted in LEVELS else 2):
        return
    now = datetime.now(timezone.utc).isoformat()
    line = json.dumps({"@level": level, "@message": message, "@timestamp": now, **fields}, default=str)
    with _log_lock:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


# ---- One attempt.


class Attempt:
    """The conversation of one attempt. Its methods may be called from any thread of the provider's; those that
    wait raise a Failure when the attempt is over: cancelled, or later than its timeout_ms."""

    def __init__(self, pb, start):
        self._pb = pb
        self.start = start
        self.cancelled = threading.Event()
        self.reason = ""
        self._gone = threading.Event()  # nobody reads any more
        self._events = queue.Queue(maxsize=64)  # so that a slow kernel slows us down, and not our memory
        self._lock = threading.Lock()
        self._verdicts = {}  # calls that wait, by id
        self._stored = {}  # checkpoints that wait, by turn
        self._children = set()
        self._waiting = 0  # calls that wait for their verdict: their time does not count
        self._late = False  # timeout_ms is over
        self.said = False  # something of stream text
        threading.Thread(target=self._watch, daemon=True).start()

    # What the provider says.

    def output(self, text, stream="text"):
        """Says something: stream text is what the agent says, raw and stderr are for diagnosis."""
        data = text if isinstance(text, bytes) else text.encode()
        self.said = self.said or (stream == "text" and bool(data))
        number = {"text": self._pb.STREAM_TEXT, "raw": self._pb.STREAM_RAW, "stderr": self._pb.STREAM_STDERR}[stream]
        for at in range(0, len(data), CHUNK):
            self._send(output=self._pb.OutputChunk(stream=number, data=data[at : at + CHUNK]))

    def progress(self, message, turn=0, tool=""):
        """A line for live views."""
        self._send(progress=self._pb.Progress(message=message, turn=turn, tool=tool))

    def usage(self, **totals):
        """Token counts and cost_usd so far. What is left out is unknown, which is not zero."""
        self._send(usage=self._pb.Usage(**totals))

    def call(self, call_id, tool, args, effect="once"):
        """Asks for a gated tool call and returns the kernel's verdict: action is run, deny, skip or use. It may take
        days, since a person may be asked: no limit of the provider's own may count this time."""
        waiting = queue.Queue(maxsize=1)
        with self._lock:
            self._verdicts[call_id] = waiting
        effects = {"none": self._pb.EFFECT_NONE, "idempotent": self._pb.EFFECT_IDEMPOTENT, "once": self._pb.EFFECT_ONCE}
        self._send(tool_call=self._pb.ToolCall(
            call_id=call_id, tool=tool, args=json.dumps(args).encode(), effect=effects[effect]))
        with self._lock:
            self._waiting += 1
        try:
            verdict = self._await(waiting)
        finally:
            with self._lock:
                self._waiting -= 1
        action = self._pb.VerdictAction.Name(verdict.action).removeprefix("VERDICT_ACTION_").lower()
        if action == "unspecified" or (action == "use" and not verdict.HasField("result")):
            action = "deny"
        return action, verdict

    def result(self, call_id, status, result):
        """Reports how a gated call ended, also one that was not made: success, error, timeout or denied."""
        number = self._pb.ToolStatus.Value("TOOL_STATUS_" + status.upper())
        self._send(tool_result=self._pb.ToolResult(call_id=call_id, status=number, result=json.dumps(result).encode()))

    def checkpoint(self, turn, state):
        """Saves what is needed to go on, and returns once it is on disk. state is anything that JSON can hold."""
        waiting = queue.Queue(maxsize=1)
        with self._lock:
            self._stored.setdefault(turn, []).append(waiting)
        self._send(checkpoint=self._pb.Checkpoint(turn=turn, blob=json.dumps(state).encode()))
        self._await(waiting)

    def wait(self, seconds):
        """Sleeps, unless the attempt is cancelled."""
        if self.cancelled.wait(seconds):
            raise self._over()

    def run(self, command, text=""):
        """Runs a command to its end in a process group of its own, says what it prints, and returns its exit code.
        When the attempt is cancelled the whole group is ended: TERM, then KILL."""
        environment = {**os.environ, **self.start.environment}
        try:
            child = subprocess.Popen(
                command, cwd=self.start.work_dir or None, env=environment, start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise Failure("provider_missing", f"start {command[0]}: {error}", "install it, or correct the command") from error
        with self._lock:
            self._children.add(child)
        pumps = [
            threading.Thread(target=self._pump, args=(child.stdout, "text")),
            threading.Thread(target=self._pump, args=(child.stderr, "stderr")),
            threading.Thread(target=_feed, args=(child.stdin, text.encode())),
        ]
        for pump in pumps:
            pump.start()
        try:
            while child.poll() is None:
                if self.cancelled.wait(0.02):
                    break
        finally:
            end_group(child, 0.0 if child.poll() is not None else self._grace())
            for pump in pumps:
                pump.join()
            with self._lock:
                self._children.discard(child)
        if self.cancelled.is_set():
            raise self._over()
        return child.returncode

    # What the kernel says, and the way there.

    def cancel(self, reason):
        self.reason = self.reason or reason
        self.cancelled.set()

    def kill(self):
        """Ends what the attempt started at once: the process is about to end."""
        with self._lock:
            children = list(self._children)
        for child in children:
            end_group(child, 0.0)

    def listen(self, inputs):
        """Takes what the kernel says until it has no more to say. What nobody waits for is ignored."""
        try:
            for message in inputs:
                what = message.WhichOneof("input")
                if what == "cancel":
                    self.cancel(message.cancel.reason)
                elif what == "verdict":
                    with self._lock:
                        waiting = self._verdicts.pop(message.verdict.call_id, None)
                    if waiting:
                        waiting.put(message.verdict)
                elif what == "checkpoint_stored":
                    with self._lock:
                        queued = self._stored.get(message.checkpoint_stored.turn)
                        waiting = queued.pop(0) if queued else None
                    if waiting:
                        waiting.put(True)
        except Exception as error:  # the stream broke; gRPC raises errors of several classes
            log("debug", "an attempt's stream ended", error=error)

    def leave(self):
        """The stream is over: nobody reads any more."""
        self._gone.set()
        self.cancel("the connection to the kernel is lost")

    def events(self):
        """Yields what was said, and heartbeats, until the result."""
        while True:
            try:
                event = self._events.get(timeout=HEARTBEAT)
            except queue.Empty:
                event = self._pb.ExecuteEvent(heartbeat=self._pb.Heartbeat())
            yield event
            if event.HasField("result"):
                return

    def finish(self, result):
        self._send(result=result)

    def _send(self, **event):
        message = self._pb.ExecuteEvent(**event)
        while not self._gone.is_set():
            try:
                return self._events.put(message, timeout=0.2)
            except queue.Full:
                continue  # the kernel reads slowly, or not at all any more

    def _await(self, waiting):
        while not self.cancelled.is_set():
            try:
                return waiting.get(timeout=0.05)
            except queue.Empty:
                continue
        raise self._over()

    def _over(self):
        """Why the attempt ends."""
        if self._late:
            return Failure("provider_timeout", f"the attempt took longer than its {self.start.timeout_ms / 1000:g} s", retryable=True)
        return Cancelled(self.reason)

    def _watch(self):
        """Ends the attempt when its time is over. Time in which a person thinks about a call does not count."""
        left = self.start.timeout_ms / 1000
        while self.start.timeout_ms and not self.cancelled.wait(min(0.05, max(left, 0.001))):
            if not self._waiting:
                left -= 0.05
            if left <= 0:
                self._late = True
                self.cancel("its time is over")

    def _pump(self, pipe, stream):
        while data := pipe.read1(64 << 10):
            self.output(data, stream)
        pipe.close()

    def _grace(self):
        """Seconds between TERM and KILL: part of the time that the kernel gives us to end the attempt."""
        return min(self.start.grace_ms / 2000 if self.start.grace_ms else 2.0, 5.0)


def end_group(child, grace):
    """Ends the process group that child leads, and waits for the child."""
    deadline = time.monotonic() + grace
    if grace > 0:
        _kill(child.pid, signal.SIGTERM)
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
    _kill(child.pid, signal.SIGKILL)  # also what the child left behind in its group
    child.wait()


def _kill(group, number):
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass  # it is gone


def _feed(pipe, data):
    try:
        pipe.write(data)
        pipe.close()
    except OSError:
        pass  # the child did not want to read it


# ---- The services.


class Services:
    """Answers for the plugin. Exceptions never reach gRPC: the kernel would take them for a crash."""

    def __init__(self, plugin, pb, stopping):
        self.plugin, self.pb, self.stopping = plugin, pb, stopping
        self._lock = threading.Lock()
        self._attempts = set()
        self._ending = False  # guarded by the lock, as the attempts are

    def describe(self, _request, _context):
        d = self.plugin.describe()
        return self.pb.DescribeResponse(
            name=d["name"], version=d["version"], protocols=d["protocols"], sdk=d["sdk"], mtls=False,
            components=[self._component(c) for c in d["components"]])

    def _component(self, c):
        pb = self.pb
        traits = dict(c.get("provider", {}))
        for key, enum in (("locality", "LOCALITY"), ("model_choice", "MODEL_CHOICE"), ("usage", "REPORTING"), ("cost", "REPORTING")):
            if key in traits:
                traits[key] = f"{enum}_{traits[key].upper()}"
        schema = c.get("config_schema")
        return pb.Component(
            kind=pb.KIND_PROVIDER, name=c["name"], aliases=c.get("aliases", []), summary=c.get("summary", ""),
            config_schema=json.dumps(schema).encode() if schema else b"", capabilities=c.get("capabilities", []),
            concurrency="CONCURRENCY_" + c.get("concurrency", "safe").upper(),
            needs=pb.Needs(**c["needs"]) if "needs" in c else None, provider=pb.ProviderTraits(**traits))

    def init(self, request, _context):
        return self.pb.InitResponse(failure=self._guarded(
            "internal", lambda: self._provider(request.component).init(request.work_dir)))

    def validate(self, request, _context):
        def check():
            self._provider(request.component).validate(request.model, read_config(request.config))
        return self.pb.ValidateResponse(failure=self._guarded("config_invalid", check))

    def health(self, _request, _context):
        return self.pb.HealthResponse()

    def shutdown(self, _request, _context):
        self.end()
        return self.pb.ShutdownResponse()

    def execute(self, inputs, context):
        start = next((m.start for m in inputs if m.WhichOneof("input") == "start"), None)
        if start is None:
            return
        attempt = Attempt(self.pb, start)
        with self._lock:
            if not self._ending:
                self._attempts.add(attempt)
        if attempt not in self._running():
            context.abort(self.unavailable, "the plugin is ending")
        context.add_callback(attempt.leave)
        threading.Thread(target=attempt.listen, args=(inputs,), daemon=True).start()
        threading.Thread(target=self._work, args=(start, attempt), daemon=True).start()
        yield from attempt.events()

    def _work(self, start, attempt):
        fields, begun = {}, time.monotonic()
        def make():
            provider = self._provider(start.component)
            fields.update(provider.execute(start, attempt) or {})
        failure = self._guarded("provider_failed", make)
        usage = fields.pop("usage", None)
        result = self.pb.ExecuteResult(
            **fields, usage=self.pb.Usage(**usage) if usage else None,
            duration_ms=int((time.monotonic() - begun) * 1000))
        if failure:
            result.failure.CopyFrom(failure)
            result.outcome = result.outcome or self.pb.OUTCOME_FAILED
        result.outcome = result.outcome or self.pb.OUTCOME_SUCCEEDED
        if result.ByteSize() > MAX_MESSAGE - 64:
            result = self.pb.ExecuteResult(outcome=self.pb.OUTCOME_FAILED, failure=self.pb.Failure(
                kind="provider_failed", message=f"the output is over the protocol's limit of {MAX_MESSAGE >> 20} MiB",
                hint="let the agent write it to a file, or send it in chunks and leave the result's output empty"))
        with self._lock:
            ending = self._ending
        # While we end, the kernel should not take the attempt for failed and make the next one here: it sees the
        # connection break, and starts a fresh process.
        if not ending:
            attempt.finish(result)
        with self._lock:
            self._attempts.discard(attempt)

    def end(self, grace=GRACE):
        """Cancels every attempt, and ends by force what is left of them after the grace."""
        deadline = time.monotonic() + grace
        with self._lock:
            self._ending = True
        for attempt in self._running():
            attempt.cancel("the plugin is shutting down")
        while self._running() and time.monotonic() < deadline:
            time.sleep(0.01)
        for attempt in self._running():
            attempt.kill()

    def _running(self):
        with self._lock:
            return list(self._attempts)

    def _provider(self, ref):
        if ref.kind == self.pb.KIND_PROVIDER and ref.name in self.plugin.providers:
            return self.plugin.providers[ref.name]
        raise Failure("plugin_invalid", f"plugin {self.plugin.name} serves no provider {ref.name!r}",
                      f"compare with `agent-plugin-{self.plugin.name} describe`")

    def _guarded(self, kind, work):
        """The failure of the work, None for none. One that is no Failure is a mistake of ours, or of that kind."""
        try:
            work()
            return None
        except Failure as f:
            return self.pb.Failure(kind=f.kind, message=f.message, hint=f.hint, retryable=f.retryable,
                                   retry_after_seconds=f.retry_after, detail=f.detail)
        except Exception as error:
            log("error", "an exception in the provider", error=error)
            return self.pb.Failure(
                kind="internal" if kind != "config_invalid" else kind, message=f"{type(error).__name__}: {error}",
                hint="this is a bug in the plugin; report it to its author with the detail", detail=traceback.format_exc())

    def handlers(self, grpc):
        """The protocol's services, and those that go-plugin's host asks for."""
        pb, self.unavailable = self.pb, grpc.StatusCode.UNAVAILABLE

        def unary(method, request, response):
            return grpc.unary_unary_rpc_method_handler(
                method, request_deserializer=request.FromString, response_serializer=response.SerializeToString)

        def until_the_end(_request, _context):
            self.stopping.wait()
            return iter(())

        def goodbye(_request, _context):
            self.stopping.set()
            return b""

        services = {
            "agentpipelines.plugin.v1.Plugin": {
                "Describe": unary(self.describe, pb.DescribeRequest, pb.DescribeResponse),
                "Init": unary(self.init, pb.InitRequest, pb.InitResponse),
                "Validate": unary(self.validate, pb.ValidateRequest, pb.ValidateResponse),
                "Health": unary(self.health, pb.HealthRequest, pb.HealthResponse),
                "Shutdown": unary(self.shutdown, pb.ShutdownRequest, pb.ShutdownResponse),
            },
            "agentpipelines.plugin.v1.Provider": {
                "Execute": grpc.stream_stream_rpc_method_handler(
                    self.execute, request_deserializer=pb.ExecuteInput.FromString,
                    response_serializer=pb.ExecuteEvent.SerializeToString),
            },
            # These carry no message of ours, so that bytes will do: SERVING, no output, an empty answer.
            "grpc.health.v1.Health": {"Check": grpc.unary_unary_rpc_method_handler(lambda _r, _c: b"\x08\x01")},
            "plugin.GRPCStdio": {"StreamStdio": grpc.unary_stream_rpc_method_handler(until_the_end)},
            "plugin.GRPCController": {"Shutdown": grpc.unary_unary_rpc_method_handler(goodbye)},
        }
        return [grpc.method_handlers_generic_handler(name, methods) for name, methods in services.items()]


def read_config(raw):
    """A component's configuration as a dict."""
    try:
        config = json.loads(raw or b"{}")
    except ValueError as error:
        raise Failure("config_invalid", f"the configuration is no JSON: {error}") from error
    if not isinstance(config, dict):
        raise Failure("config_invalid", "the configuration is no object")
    return config


# ---- The process.


def main(plugin, args=None):
    """Runs the plugin and returns the process's exit code."""
    args = sys.argv[1:] if args is None else args
    if args == ["describe"]:
        print(json.dumps(plugin.describe(), indent=2))
        return 0
    if args in (["version"], ["--version"]):
        print(f"agent-plugin-{plugin.name} {plugin.version}")
        return 0
    if args or os.environ.get(COOKIE[0]) != COOKIE[1]:
        print(f"agent-plugin-{plugin.name} {plugin.version} is a plugin of agent-pipelines, which starts it when a "
              "pipeline needs it.\n`describe` prints its components as JSON.", file=sys.stderr)
        return 2
    if str(PROTOCOL) not in os.environ.get("PLUGIN_PROTOCOL_VERSIONS", str(PROTOCOL)).split(","):
        print(f"agent-plugin-{plugin.name} speaks protocol version {PROTOCOL} only", file=sys.stderr)
        return 1
    return serve(plugin)


def serve(plugin):
    """Shakes hands and serves until the kernel says goodbye or is gone."""
    # stdout is for one line. Whatever else is printed, by a library or a child, goes to the log.
    handshake = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    import grpc  # only now: describe needs neither it nor its time
    import plugin_pb2 as pb

    stopping = threading.Event()
    services = Services(plugin, pb, stopping)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=die, args=(services, "SIGTERM"), daemon=True).start())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the kernel's business
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=CALLS), handlers=services.handlers(grpc),
        options=[("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)])
    os.umask(0o077)
    path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or ".", f"plugin-{os.getpid()}")
    if server.add_insecure_port("unix:" + path) == 0:
        log("error", "the socket cannot be opened", path=path)
        return 1
    server.start()
    for name in list(os.environ):  # what we start must not take the handshake for its own
        if name.startswith("PLUGIN_") or name == COOKIE[0]:
            del os.environ[name]
    threading.Thread(target=watch_the_kernel, args=(services,), daemon=True).start()
    handshake.write(f"1|{PROTOCOL}|unix|{path}|grpc|\n")
    handshake.close()
    stopping.wait()
    services.end()
    server.stop(0.2).wait()
    # Threads of a provider that ignored its end must not keep the process alive.
    sys.stderr.flush()
    os._exit(0)


def watch_the_kernel(services):
    """The kernel holds the other end of stdin, a pipe, and never writes: end of file is its end."""
    if not (stat.S_ISFIFO(os.fstat(0).st_mode) or stat.S_ISSOCK(os.fstat(0).st_mode)):
        return  # a terminal or /dev/null says nothing about anybody's life
    while os.read(0, 4096):
        pass
    die(services, "the kernel is gone")


def die(services, reason):
    """Ends the process with everything that it started."""
    log("debug", "the plugin ends", reason=reason)
    services.end()
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
