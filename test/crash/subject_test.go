//go:build crashpoints

package crash

// subject is a pipeline whose kernel is killed, and the commands that run it.
type subject struct {
	name     string
	pipeline string
	// way are the commands of an undisturbed run, in order.
	way []step
	// calls is the number of different calls of the counting tool.
	calls int
	// person is true if questions are answered while the kernel runs.
	person bool
	// flags are those of a resume.
	flags []string
	// recovery is the recovery policy of the nodes, "" for rerun.
	recovery string
	// env holds additional environment variables, which give the kernel a defect.
	env []string
}

// step is a command and the exit code that it has if nothing disturbs it.
type step struct {
	args []string
	code int
}

// unattended returns the commands of a pipeline without questions.
func unattended(flags ...string) []step {
	return []step{{args: append([]string{"pipeline", "crash", "s", "--foreground"}, flags...)}}
}

// answered returns the commands of a run that pauses with the exit code, of its approval and of its resume.
func answered(code int) []step {
	return append([]step{{unattended()[0].args, code}}, step{args: []string{"approve", "s", "--context", "continue"}}, step{args: []string{"resume", "s"}})
}

// subjects cover every shape: the contents of a node, the structure around it, and the actions of users and tools.
var subjects = []subject{
	{name: "loop", pipeline: staged, way: []step{{args: []string{"loop", "tick", "s", "2", "--foreground"}}}},
	{name: "stages", pipeline: staged, way: unattended(), calls: 2},
	{name: "queue", pipeline: queued, way: unattended()},
	{name: "block", pipeline: block, way: unattended()},
	{name: "repeated", pipeline: repeated, way: []step{{args: []string{"pipeline", "crash", "s", "2", "--foreground"}}}},
	{name: "nested", pipeline: nested, way: unattended()},
	{name: "hooked", pipeline: hooked, way: unattended(), calls: 2},
	{name: "cycled", pipeline: cycled, way: unattended()},
	{name: "handed", pipeline: handed, way: unattended()},
	{name: "retried", pipeline: retried, way: unattended()},
	{name: "asked", pipeline: asked, way: answered(0)},
	{name: "escalated", pipeline: escalated, way: answered(22)},
	{name: "approved", pipeline: approved, way: unattended("--wait"), calls: 1, person: true, flags: []string{"--wait"}},
	{name: "paid-rerun", pipeline: paid("rerun"), way: unattended(), calls: 2},
	{name: "paid-ask", pipeline: paid("ask"), way: unattended(), calls: 2, recovery: "ask"},
	{name: "paid-fail", pipeline: paid("fail"), way: unattended(), calls: 2, recovery: "fail"},
}

// staged has two stages, one with a fixed number of iterations and one that a judge ends. A kill can hit attempts,
// decisions, questions and transitions.
const staged = `name: crash
defaults: {provider: mock}
nodes:
  - id: build
    prompt: "build ${RESULT}"
    runs: 2
    termination: {type: fixed, max: 2}
  - id: polish
    prompt: "polish ${RESULT}"
    inputs: {from: build}
    termination: {type: judgment, min_iterations: 1, consensus: 2, max: 4, judge: {provider: mock, model: m, prompt: judge.md}}
`

// block has two parallel providers with two stages each, and a stage that reads their outputs.
const block = `name: crash
defaults: {provider: mock}
nodes:
  - id: both
    parallel:
      providers: [{name: mock, as: left}, {name: mock, as: right}]
      stages:
        - {id: draft, prompt: "draft ${RESULT}"}
        - {id: review, prompt: "review ${RESULT}", inputs: {from: draft}}
  - id: sum
    prompt: "sum ${RESULT}"
    inputs: {from_parallel: draft}
`

// repeated has two short stages and runs twice, so that a kill can hit both runs and the time between them.
const repeated = `name: crash
defaults: {provider: mock}
nodes:
  - {id: write, prompt: "write ${RESULT}"}
  - {id: read, prompt: "read ${RESULT}", inputs: {from: write}}
`

const mock = `{"replies": [
  {"purpose": "question", "output": "{\"stop\": true, \"reason\": \"flat\", \"confidence\": 1}"},
  {"node": "build", "output": "built", "result": {"summary": "built"}, "progress": "",
   "tool_calls": [{"tool": "count", "gated": true, "effect": "idempotent", "count_file": "count.log", "result": {"ok": true}}]},
  {"node": "polish", "output": "polished", "result": {"summary": "polished"}},
  {"node": "pay", "output": "paid", "result": {"summary": "paid"}, "tool_calls": [
    {"tool": "note", "gated": true, "effect": "idempotent", "count_file": "count.log", "result": {"ok": true}, "checkpoint": true},
    {"tool": "pay", "gated": true, "effect": "once", "count_file": "count.log", "result": {"receipt": 7}}]},
  {"node": "careful", "output": "written", "result": {"summary": "written"},
   "tool_calls": [{"tool": "write", "gated": true, "effect": "idempotent", "args": {"path": "a.go"}, "count_file": "count.log", "result": {"ok": true}}]},
  {"node": "flaky", "attempt": 1, "failure": {"kind": "provider_timeout", "message": "too slow", "retryable": true}},
  {"node": "decide", "prompt_contains": "continue", "result": {"summary": "decided"}},
  {"node": "decide", "result": {"summary": "unclear", "outcome": "escalate", "escalation": {"type": "unclear", "message": "which of the two?", "options": ["a", "b"]}}},
  {"node": "ask", "prompt_contains": "not what the contract says", "artifact": {"title": "t", "open": []}},
  {"node": "ask", "artifact": {"title": "t"}},
  {"node": "make", "artifact": {"done": true}},
  {"node": "plan", "artifact": {"steps": [{"id": "one"}, {"id": "two", "depends_on": ["one"]}]}},
  {"node": "verify", "visit": 1, "result": {"summary": "verified", "outcome": "fail", "message": "not yet"}}
]}`

// hooked has hooks at the points of a session, a stage and an iteration. The texts that they add are in the prompts.
const hooked = `name: crash
defaults: {provider: mock}
hooks:
  session_start: [{action: mock, answer: modify_context, context: for all}]
  stage_start: [{action: mock, condition: stage == "other"}]
  iteration_start: [{action: mock, answer: modify_context, context: for this one}]
  iteration_end: [{action: mock, answer: modify_context, context: for the next}]
  stage_end: [{action: mock}]
  session_end: [{action: mock}]
nodes:
  - {id: build, prompt: "build ${RESULT} ${CONTEXT}", runs: 2}
`

// asked waits for the user between its stages.
const asked = `name: crash
defaults: {provider: mock}
supervised: true
nodes:
  - {id: write, prompt: "write ${RESULT}"}
  - {id: read, prompt: "read ${RESULT} ${CONTEXT}", inputs: {from: write}}
`

// cycled has all that a contract adds: an artifact, steps made from it, checks, and an edge that leads back once.
const cycled = `name: crash
defaults: {provider: mock}
policy: {cost: {max_usd: 100, reserve_usd: 1}}
nodes:
  - id: plan
    prompt: "plan ${RESULT} ${ARTIFACT}"
    artifact: {type: plan, schema: {type: object, required: [steps]}}
  - id: work
    prompt: "work ${STEP} ${FEEDBACK} ${RESULT}"
    steps: {from: plan, path: "steps[*]"}
  - id: verify
    prompt: "verify ${RESULT}"
    checks: [{id: there, type: command, run: "true", at: enter}, {id: build, type: command, run: "true"}]
    transitions: {fail: {to: work, limit: 2}}
`

// handed uses all features of artifacts between nodes. Nodes require fields of an artifact and carry some of them
// over. A node is skipped, and its artifact gets one field from another field. The pipeline exits before its last node.
const handed = `name: crash
defaults: {provider: mock}
exit_after: make
nodes:
  - id: ask
    prompt: "ask ${RESULT} ${ARTIFACT}"
    artifact: {type: request, schema: {type: object, required: [title, open]}}
  - id: clarify
    prompt: "clarify ${RESULT} ${INPUT_ARTIFACT}"
    requires: {ask: [title, open]}
    skip_when: "len(open) == 0"
    artifact: {carry: [title], defaults_from: {goal: title}, schema: {type: object, required: [title, goal]}}
  - id: make
    prompt: "make ${RESULT} ${INPUT_ARTIFACT}"
    requires: {clarify: [title, goal]}
    artifact: {carry: [title], schema: {type: object, required: [title, done]}}
  - {id: never, prompt: "never"}
`

// queued ends when an external command prints no further item.
const queued = `name: crash
defaults: {provider: mock}
nodes:
  - id: drain
    prompt: "drain ${RESULT}"
    termination: {type: queue, max: 5, command: "test $AGENT_PIPELINES_ITERATION -ge 2 || echo item"}
`

// nested embeds a pipeline between two nodes. The embedded pipeline runs twice.
const nested = `name: crash
defaults: {provider: mock}
nodes:
  - {id: seed, prompt: "seed ${RESULT}"}
  - {id: twice, pipeline: inner, runs: 2, inputs: {from: seed}}
  - {id: end, prompt: "end ${RESULT}", inputs: {from: twice}}
`

const inner = `name: inner
defaults: {provider: mock}
nodes:
  - {id: draft, prompt: "draft ${RESULT}"}
  - {id: repair, prompt: "repair ${RESULT}", inputs: {from: draft}}
`

// retried fails in the first attempt of each iteration, and retries after 10 ms.
const retried = `name: crash
defaults: {provider: mock}
policy: {retry: {backoff: [0.01]}}
nodes:
  - {id: flaky, prompt: "flaky ${RESULT}", runs: 2}
`

// escalated pauses because its agent needs the user.
const escalated = `name: crash
defaults: {provider: mock}
nodes:
  - id: decide
    prompt: "decide ${RESULT} ${CONTEXT}"
    transitions: {success: next}
  - {id: write, prompt: "write ${RESULT}"}
`

// approved asks the user about a call of its tool.
const approved = `name: crash
defaults: {provider: mock}
policy: {approvals: {default: prompt}}
nodes:
  - {id: careful, prompt: "careful ${RESULT}"}
`

// paid makes two calls whose effects are counted: one that may be made twice, and one that may not.
func paid(recovery string) string {
	return `name: crash
defaults: {provider: mock}
nodes:
  - {id: pay, prompt: "pay ${RESULT}", policy: {recovery: ` + recovery + `}}
`
}
