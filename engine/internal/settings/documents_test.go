package settings_test

// Together these documents use every key; each document is read without a fault.

const everyKey = `
name: p
description: d
inputs: ["*.md", x]
commands: {test: go test, lint: ~}
defaults: {provider: claude, model: m}
guardrails: {max_runtime_seconds: 60}
supervised: true
exit_after: e
tmux: false
x-note: {any: thing}
policy:
  timeout: 60
  stage_timeout: 30
  idle_timeout: "5"
  retry: {attempts: 2, backoff: [1, 2.5, "3"], step: 1, stage: 2, on_stage_retry: renew}
  recovery: ask
  env: [PATH, HOME]
  feedback: {enabled: true, max: 3}
  approvals:
    default: prompt
    timeout: 5
    on_timeout: deny
    non_interactive: skip
    categories: {file_read: auto, terminal_command: prompt}
    rules: [{name: r, operation: file_write, pattern: "**/*.go", policy: auto}, {operation: terminal_command, pattern: "^go ", policy: deny}]
    protected: [".git/**"]
  sandbox: {mode: workspace, network: on, read: /a, write: [b], memory: 512M, processes: 4, cpu: 1.5, max_violations: 9}
  cycles: {default: 3, max: 9, session: 30, identical: 2}
  budget: {total: model, shares: {a: 40, b: 30}}
  context: full
  cost: {max_usd: 10, max_tokens: 100, warn_usd: 5, reserve_usd: 1, reserve_tokens: 2}
  escalation: {on_limit: pause, wait: true, timeout: 60, poll: 5, on_timeout: abort}
  mode: open
  tools: {allowed_commands: [go, git], command_timeout: 5, max_result_tokens: 100}
  secrets: {patterns: ["sk_[a-z]+"]}
hooks:
  session_start: [{action: script, command: x}]
  stage_end:
    - {stage: a, condition: 'status == "success"', action: confirm, message: m, accept_feedback: true}
    - {action: pause, message: m, x-a: 1}
    - {action: webhook, url: "https://example.com", timeout: 5, on_timeout: continue, on_error: abort}
nodes:
  - id: a
    stage: s
    runs: 2
    termination: {type: judgment, max: 3, min_iterations: 1, consensus: 2, other: [1]}
    inputs: {select: all}
    provider: mock
    model: m
    context: c
    description: d
    delay: 0
    output_path: out/${SESSION}.md
    guardrails: {max_runtime_seconds: 5}
    policy: {required: true, env: minimal, sandbox: strict, budget: {total: 500}}
    require_human_approval: true
    artifact:
      type: t
      version: "1.0"
      schema: {type: object}
      from: tool:x
      carry: [a.b, c]
      defaults_from: {a: b.c}
      kernel_fields: {n: checks.tests.counts}
      verdict: {field: f, map: {yes: success, no: fail}}
      heal: 2
      max_bytes: 2M
    requires: {"*": [x], $input: [y.z]}
    skip_when: a == 1
    checks:
      - {id: tests, type: tests, run: x, at: exit, files_from: f, optional: true, timeout: 5, expect: {max_warnings: 3}}
    transitions: {fail: {to: a, limit: 3, feedback: f, on_limit: pause}, error: failed}
  - id: b
    prompt: x
    steps: {from: a, path: "tasks[*].x", id: id, depends_on: d, max_turns: 4, parallel: true, rerun: all, retry_by: {x: 2}}
  - id: c
    parallel:
      providers: [claude, {name: mock, as: other, model: m, inputs: {from: a, select: latest}}]
      stages: [{id: d, prompt: x, runs: "2", checks: [{id: c, type: file, path: x}]}]
  - id: e
    prompt: x
    inputs: {from: a, select: history, from_parallel: [d, {stage: d, block: c, providers: [claude], select: latest}], from_initial: true}
  - id: f
    wraps: {run: ./x, input_mapping: {a: b.c}, output_mapping: {x: y, z: ~}, defaults: {n: [1]}}
  - id: g
    wraps: {pipeline: inner}
    runs: 2
`

const everyKind = `
name: p
nodes:
  - {id: a, pipeline: inner, runs: 2, inputs: {}, guardrails: {max_runtime_seconds: 4}, policy: {timeout: 3}, transitions: {success: next}}
  - {id: b, parallel: {providers: [mock], stages: [{id: s, stage: s, artifact: {type: t}}]}, policy: {retry: {attempts: 3}}, requires: {a: [x]}, description: d}
  - {id: c, prompt: x, runs: {type: fixed, max: 2}}
  - {id: d, prompt: x, termination: {}, artifact: {schema: true, from: file}}
  - {id: e, stage: s, inputs: {from_parallel: s}, budget: 1}
`

const oldKeys = `
name: p
stages:
  - {name: a, loop: s, completion: plateau, consensus: 2, min_iterations: 1}
  - {name: b, prompt: x, completion: fixed-n, runs: many, delay: "1"}
`

const everyStageKey = `
name: s
description: d
termination: {type: judgment, max: 3, min_iterations: 1, consensus: 2}
provider: mock
model: m
delay: 1
check_before: true
output_path: o
context: c
prompt: prompt
output_parse: x
items: [1]
guardrails: {max_runtime_seconds: 3}
commands: {test: x}
tmux: false
require_human_approval: false
artifact: {type: t, schema: {type: object}, verdict: {field: f, map: {yes: success}}, heal: 0, max_bytes: 1000, carry: [a]}
role: planner
requires: {"*": [x]}
skip_when: a == 1
checks: [{id: tests, type: command, command: x}]
`

const wrappingStage = `
name: s
wraps: {run: ./x, input_mapping: {a: b}, output_mapping: {x: ~}, defaults: {n: 1}}
artifact: {type: t}
`

const oldStage = `
completion: beads-empty
consensus: 2
runs: 4
`

const everyConfigKey = `
background: detach
commands: {test: go test, x: ~}
defaults: {provider: codex, delay: 1.5}
mode: burst
notify:
  - {action: webhook, on: [waiting, failed], timeout: 5, url: x, x-a: 1}
  - {action: script, on: waiting}
providers:
  claude: {model: m, config: {a: 1}, env: [A_TOKEN], sandbox: strict}
  codex: ~
sandbox: {mode: strict, network: loopback, read: [a], write: b, memory: 1G, processes: 3, cpu: 0.5, max_violations: 8}
x-mine: 1
`

const shortConfig = `
background: tmux
sandbox: workspace
mode: open
`
