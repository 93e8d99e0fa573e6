//go:build crashpoints

package crash

// subject is a pipeline that is cut off, and what is done with it.
type subject struct {
	name     string
	pipeline string
	// way are the commands of an undisturbed run, in order. Each exits with 0.
	way [][]string
	// history is how many entries state.json has at the end.
	history int
	// stride: only each so many-th crash point is tried, 0 for all.
	stride int
}

// once is the way of a pipeline that nobody has to say anything to.
func once(runs string) [][]string {
	return [][]string{{"pipeline", "crash", "s", runs, "--foreground"}}
}

var subjects = []subject{
	{"stages", staged, once("1"), 4, 0},
	{"block", block, once("1"), 1, 0},
	{"repeated", repeated, once("2"), 4, 0},
	{"hooked", hooked, once("1"), 2, 0},
	{"cycled", cycled, once("1"), 9, 3},
	{"handed", handed, once("1"), 2, 2},
	{"asked", asked, append(once("1"), []string{"approve", "s", "--context", "go on"}, []string{"resume", "s"}), 2, 0},
}

// staged has two stages: one fixed, one that a judge ends, so that attempts, decisions, questions
// and transitions are all there to be cut off.
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

// block has two providers side by side with two stages each, and a stage that reads what they left.
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

// repeated runs twice: two short stages, so that the runs and what lies between them are there to be cut off.
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
  {"node": "ask", "attempt": 1, "artifact": {"title": "t"}},
  {"node": "ask", "artifact": {"title": "t", "open": []}},
  {"node": "make", "artifact": {"done": true}},
  {"node": "plan", "artifact": {"steps": [{"id": "one"}, {"id": "two", "depends_on": ["one"]}]}},
  {"node": "verify", "visit": 1, "result": {"summary": "verified", "outcome": "fail", "message": "not yet"}}
]}`

// hooked has hooks at the points of a stage, whose texts are in the prompts.
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

// asked waits for a person between its stages.
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

// handed has all that artifacts between nodes add: one that is healed, a node that is skipped because of it and passes it
// on, demands, fields that are carried, and a way out before the last node.
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
