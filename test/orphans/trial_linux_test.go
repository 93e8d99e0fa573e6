package orphans

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// treeStart is one method by which the product starts the tree: a pipeline, and the plugin whose process starts the
// tree.
type treeStart struct{ name, plugin, pipeline string }

// A trial replaces TIMEOUT, SANDBOX and SECONDS in these pipelines.
var (
	careless = treeStart{"plugin that forks", "forker", `
name: one
defaults: {provider: forker}
nodes:
  - {id: a, prompt: "work ${RESULT}", runs: 1, policy: {retry: {attempts: 1}, TIMEOUTSANDBOX}}
`}
	claude = treeStart{"agent's command line", "claude", strings.ReplaceAll(careless.pipeline, "provider: forker", "provider: claude")}
	model  = treeStart{"tool of a model", "agent", strings.ReplaceAll(careless.pipeline, "provider: forker", "provider: agent")}
	script = treeStart{"script of a hook", "hooks", `
name: one
defaults: {provider: mock}
hooks:
  iteration_end:
    - {action: script, timeout: SECONDS, on_timeout: continue, command: 'exec "$TREE" "$TREE_WORD" "$TREE_DIR" root "$TREE_KINDS"'}
nodes:
  - {id: a, prompt: work, runs: 1}
`}
	wrapped = treeStart{"wrapped command", "hooks", `
name: one
nodes:
  - id: a
    policy: {retry: {attempts: 1}, TIMEOUTSANDBOX}
    wraps: {run: '"$TREE" "$TREE_WORD" "$TREE_DIR" root "$TREE_KINDS" && echo {}'}
`}
	queue = treeStart{"command of a queue", "queue", `
name: one
defaults: {provider: mock}
nodes:
  - id: a
    prompt: work
    delay: 0
    termination: {type: queue, max: 1, timeout: SECONDS, command: '"$TREE" "$TREE_WORD" "$TREE_DIR" root "$TREE_KINDS"'}
`}
	siblings = treeStart{"plugin that falls beside", "forker", `
name: one
defaults: {provider: forker}
policy: {retry: {attempts: 1}}
nodes:
  - id: both
    parallel:
      providers: [{name: forker, as: left}, {name: forker, as: right}]
      stages: [{id: a, prompt: work, termination: {max: 1}}]
`}
)

// way is a method that ends the work. end returns when the command has ended, or when it can be inspected while it
// continues.
type way struct {
	name string
	// seconds is the time limit of the attempt, the hook or the strategy, "" for none that matters.
	seconds string
	program string // "": the command
	end     func(w *world, k *kernel, a treeStart)
	// killed is true if the kernel cannot clean up. Processes that left the group may stay until the next start.
	killed bool
	// lives is true if the program continues.
	lives bool
}

var (
	timeout = way{name: "timeout", seconds: "2", end: func(_ *world, k *kernel, _ treeStart) { k.end() }}
	abort   = way{name: "abort", end: func(w *world, k *kernel, _ treeStart) {
		w.ready(k)
		if code, text := w.run("abort", "s"); code != 0 {
			w.t.Errorf("abort: exit %d\n%s", code, text)
		}
		k.end()
	}}
	interrupt = way{name: "one SIGINT", end: func(w *world, k *kernel, _ treeStart) {
		w.ready(k)
		k.signal(os.Interrupt)
		k.end()
	}}
	interrupts = way{name: "two SIGINT", end: func(w *world, k *kernel, _ treeStart) { w.twice(k, os.Interrupt) }}
	terminate  = way{name: "two SIGTERM", end: func(w *world, k *kernel, _ treeStart) { w.twice(k, syscall.SIGTERM) }}
	killKernel = way{name: "SIGKILL of the kernel", killed: true, end: func(w *world, k *kernel, _ treeStart) {
		w.ready(k)
		k.signal(os.Kill)
		k.end()
	}}
	killEarly = way{name: "SIGKILL of the kernel in a storm", killed: true, end: func(w *world, k *kernel, _ treeStart) {
		w.await("a process of the tree", k, func() bool { return w.started() > 0 })
		k.signal(os.Kill)
		k.end()
	}}
	killPlugin = way{name: "SIGKILL of the plugin", end: func(w *world, k *kernel, a treeStart) {
		w.ready(k)
		if err := syscall.Kill(w.plugin(k, a.plugin), syscall.SIGKILL); err != nil {
			w.t.Fatal(err)
		}
		w.quiet() // the kernel may repeat the attempt
		k.end()
	}}
	fall = way{name: "fall of a sibling", end: func(w *world, k *kernel, _ treeStart) {
		w.await("the fall", k, func() bool { return strings.Contains(strings.Join(w.events(), "\n"), `"type":"plugin_crashed"`) })
		w.quiet()
		k.end()
	}}
	embedded = way{name: "Engine.Close", program: "embedder", lives: true, end: func(w *world, k *kernel, _ treeStart) {
		w.ready(k)
		_ = k.stdin.Close()
		w.await("the engine's end", k, func() bool { return strings.Contains(k.text.String(), "closed\n") })
	}}
)

// twice sends a signal, sends it again after its effect, and waits for the end.
func (w *world) twice(k *kernel, s os.Signal) {
	w.t.Helper()
	w.ready(k)
	k.signal(s)
	w.await("the stop", k, func() bool { return strings.Contains(strings.Join(w.events(), "\n"), `"type":"control"`) })
	k.signal(s)
	k.end()
}

// quiet makes later attempts end at once.
func (w *world) quiet() { w.write("tree/quiet", "") }

// scene is one kind of trial.
type scene struct {
	agent   treeStart
	way     way
	sandbox string
}

func (s scene) name() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s, %s %s", s.agent.name, s.way.name, s.sandbox)), " ")
}

// scenes returns all scenes in a fixed random order. A run of n trials plays them one after the other, again and again.
func scenes() []scene {
	var all []scene
	for _, w := range []way{timeout, killKernel, abort, killPlugin, interrupts, terminate, killEarly} {
		for _, a := range []treeStart{careless, claude, model, script, wrapped, queue} {
			all = append(all, scene{a, w, ""})
		}
	}
	for _, w := range []way{timeout, killKernel, killPlugin, abort, killEarly} {
		for _, a := range []treeStart{careless, claude, wrapped} {
			all = append(all, scene{a, w, "strict"})
		}
		all = append(all, scene{careless, w, "workspace"})
	}
	all = append(all, scene{careless, embedded, ""}, scene{claude, embedded, ""}, scene{siblings, fall, ""}, scene{claude, interrupt, ""})
	// Shuffled, so that a short run has some scenes of every kind.
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// pipeline returns the pipeline of the scene's agent, with the limits and the sandbox of the scene.
func (s scene) pipeline(p programs) string {
	limit, seconds := "", "600"
	if s.way.seconds != "" {
		seconds = s.way.seconds
		limit = "timeout: " + seconds + ", "
	}
	box := "sandbox: none"
	if s.sandbox != "" {
		box = "sandbox: {mode: " + s.sandbox + ", read: [" + string(p) + "]}"
	}
	return strings.NewReplacer("TIMEOUT", limit, "SANDBOX", box, "SECONDS", seconds).Replace(s.agent.pipeline)
}

// drawKinds draws the kinds of a trial's tree: two or three that stay in the group, and two to four that leave it.
func drawKinds(r *rand.Rand) []string {
	inside := []string{"in-child", "in-parent", "in-deaf", "in-orphan", "in-storm"}
	away := []string{"session", "group", "double", "bare", "bare-group", "away-storm", "hopper", "bare-hopper"}
	r.Shuffle(len(inside), func(i, j int) { inside[i], inside[j] = inside[j], inside[i] })
	r.Shuffle(len(away), func(i, j int) { away[i], away[j] = away[j], away[i] })
	return append(inside[:2+r.IntN(2)], away[:2+r.IntN(3)]...)
}

// count is the result of trials: numbers of cancels and of processes. ended counts survivors of killed kernels.
type count struct{ cancels, started, group, elsewhere, ended int }

func (c count) String() string {
	return fmt.Sprintf("%d cancels, %d processes started, %d left in the group, %d left elsewhere, %d of killed kernels ended by marker",
		c.cancels, c.started, c.group, c.elsewhere, c.ended)
}

func (c *count) add(d count) {
	c.cancels += d.cancels
	c.started += d.started
	c.group += d.group
	c.elsewhere += d.elsewhere
	c.ended += d.ended
}

// play runs the i-th trial and returns its result.
func (s scene) play(t *testing.T, p programs, stub *stubmodel.Server, i int) count {
	t.Helper()
	kinds := drawKinds(rand.New(rand.NewPCG(uint64(i), 7)))
	w := newWorld(t, p, stub, fmt.Sprintf("orphan-%d-%d", os.Getpid(), i), kinds, s.pipeline(p))
	program, args := "agent-pipelines", []string{"pipeline", "one", "s", "--foreground"}
	if s.way.program != "" {
		program, args = s.way.program, []string{"one", "1"}
	}
	k := w.start(program, args...)
	s.way.end(w, k, s.agent)
	c := count{cancels: 1}
	if c.started = w.started(); c.started == 0 {
		t.Fatalf("no process was started (%v)\n%s", kinds, k.text.String())
	}
	own := func(f []process) []process { return without(f, k) }
	inGroup := w.settled(func(f []process) []process { return insiders(own(f)) })
	survivors := own(scan(w.word))
	if s.sandbox == "strict" {
		inGroup = w.settled(own)
		survivors = nil
	}
	if s.way.killed {
		c.ended = w.recover(survivors)
	}
	left := w.settled(own)
	c.group, c.elsewhere = len(inGroup), len(left)
	if c.group+c.elsewhere > 0 {
		t.Errorf("trial %d (%v): left in the group: %s; left elsewhere: %s\n%s", i, kinds, describe(inGroup), describe(left), k.text.String())
	}
	if s.way.lives {
		k.signal(os.Kill)
		k.end()
	}
	return c
}

// without returns the processes other than the kernel's own.
func without(f []process, k *kernel) []process {
	var others []process
	for _, x := range f {
		if x.pid != k.cmd.Process.Pid {
			others = append(others, x)
		}
	}
	return others
}

// recover resumes a session whose kernel was killed. It checks that the resume ends the survivors and reports their
// process ids, and returns their number. Hoppers are not checked.
func (w *world) recover(survivors []process) int {
	w.t.Helper()
	w.quiet()
	code, text := w.run("resume", "s")
	if code != 0 {
		w.t.Errorf("resume: exit %d\n%s", code, text)
	}
	reported, ended := w.reported(), 0
	for _, f := range survivors {
		switch {
		case f.hops():
		case reported[f.pid]:
			ended++
		default:
			w.t.Errorf("%s (%d) was left by the killed kernel, and no event survivor_ended names it", f.kind, f.pid)
		}
	}
	return ended
}
