//go:build crashpoints

package crash

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
)

// The environment variables that arm crash points; see package kernel/failpoint.
const (
	crashAt     = "AGENT_PIPELINES_CRASH_AT="
	crashLog    = "AGENT_PIPELINES_CRASH_LOG="
	crashPower  = "AGENT_PIPELINES_CRASH_POWER="
	crashDefect = "AGENT_PIPELINES_CRASH_DEFECT="
)

// losses are the possible effects of a power failure on the disk.
var losses = []string{"undone", "empty", "torn"}

// calm is an undisturbed run: the crash points of each command, and the session's result.
type calm struct {
	points [][]string
	want   crashtest.Outcome
}

func undisturbed(t *testing.T, p program, subj subject) calm {
	t.Helper()
	w := newWorld(t, p, subj)
	c := calm{points: make([][]string, len(subj.way))}
	for i, s := range subj.way {
		log := filepath.Join(t.TempDir(), "points")
		if code, text := w.step(i, crashLog+log); code != s.code {
			t.Fatalf("undisturbed: exit %d\n%s", code, text)
		}
		for line := range strings.Lines(content(t, log)) {
			_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			c.points[i] = append(c.points[i], name)
		}
	}
	t.Logf("%d crash points", len(slices.Concat(c.points...)))
	c.want = w.outcome()
	if wrong := w.differences(c.want, false); len(wrong) > 0 {
		t.Fatalf("undisturbed: %q", wrong)
	}
	return c
}

// D2, U047: TestCrashAtEveryPoint kills the kernel at every crash point of every command. With -crash.short it kills at
// least once at every name of a point.
func TestCrashAtEveryPoint(t *testing.T) {
	p := build(t)
	for _, subj := range subjects {
		t.Run(subj.name, func(t *testing.T) {
			t.Parallel()
			c := undisturbed(t, p, subj)
			if *short {
				chains(t, p, subj, c, atPoint, func(string) bool { return true })
				return
			}
			for i, points := range c.points {
				for n, point := range points {
					t.Run(fmt.Sprintf("%s-%d-%s", subj.way[i].args[0], n+1, point), func(t *testing.T) {
						t.Parallel()
						once(t, p, subj, c, i, fmt.Sprint(n+1), "")
					})
				}
			}
		})
	}
}

// D2: TestCrashWithPowerLoss simulates a power failure at every append to the journal and at every replaced or renamed
// file. Writes that were not synced are lost.
func TestCrashWithPowerLoss(t *testing.T) {
	p := build(t)
	for subj, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			c := undisturbed(t, p, s)
			if *short {
				chains(t, p, s, c, power, durable, crashPower+losses[subj%len(losses)])
				return
			}
			at := subj
			for i, points := range c.points {
				for n, point := range points {
					if !durable(point) {
						continue
					}
					loss := losses[at%len(losses)]
					at++
					t.Run(fmt.Sprintf("%s-%d-%s-%s", s.way[i].args[0], n+1, point, loss), func(t *testing.T) {
						t.Parallel()
						once(t, p, s, c, i, fmt.Sprint(n+1), loss)
					})
				}
			}
		})
	}
}

// durable reports whether a power failure at the point is worth a test: before a line is written, after a line is
// synced, and after a file is renamed. Before a line is written, the effects of the last line are complete.
func durable(point string) bool {
	switch point {
	case "journal.append.before-write", "journal.append.after-sync", "rundir.write.after-rename", "rundir.rename.after":
		return true
	}
	return false
}

// once kills the i-th command at one point, recovers, and compares the result with that of the undisturbed run.
func once(t testing.TB, p program, subj subject, c calm, i int, at, loss string) {
	t.Helper()
	w := newWorld(t, p, subj)
	w.to(i)
	env, k := []string{crashAt + at}, atPoint
	if loss != "" {
		env, k = append(env, crashPower+loss), power
	}
	code, text := w.step(i, env...)
	switch code {
	case -1:
		w.fell(k)
	case subj.way[i].code: // parallel work does not reach each point in each run
	default:
		t.Fatalf("exit %d instead of a crash\n%s", code, text)
	}
	w.recover(i)
	w.walk(i + 1)
	for _, wrong := range w.differences(c.want, loss != "") {
		t.Error(wrong)
	}
}

// links is the maximum number of kills of a chain.
const links = 6

// chains kills at least once at each name of a point for which fits is true. Several kills follow each other in one
// session: a resume after a kill is killed at a point of another name.
func chains(t *testing.T, p program, subj subject, c calm, k kind, fits func(string) bool, env ...string) {
	t.Helper()
	missing := make([]map[string]bool, len(subj.way))
	seen := map[string]bool{}
	for i, points := range c.points {
		missing[i] = map[string]bool{}
		for _, point := range points {
			if fits(point) && !seen[point] {
				missing[i][point], seen[point] = true, true
			}
		}
	}
	for i := range subj.way {
		for number := 1; len(missing[i]) > 0; number++ {
			before := len(missing[i])
			t.Run(fmt.Sprintf("%s-%d", subj.way[i].args[0], number), func(t *testing.T) { chain(t, p, subj, c, i, missing[i], k, env) })
			if len(missing[i]) == before { // a point of an undisturbed run that is no longer reached
				t.Fatalf("not killed at %q", slices.Sorted(maps.Keys(missing[i])))
			}
		}
	}
}

func chain(t *testing.T, p program, subj subject, c calm, i int, missing map[string]bool, k kind, env []string) {
	w := newWorld(t, p, subj)
	w.to(i)
	log := filepath.Join(t.TempDir(), "points")
	start := func(env ...string) (int, string) { return w.step(i, env...) }
	act := start
	var fell []string
	for len(fell) < links {
		code, text := act(append(env, crashLog+log, crashAt+strings.Join(slices.Sorted(maps.Keys(missing)), ","))...)
		if code == exitNothing && i == 0 { // the session had not begun
			act = start
			continue
		}
		if w.declared(i, code) { // and the next resume continues
			continue
		}
		if code != -1 {
			if code != subj.way[i].code && code != exitEnded && code != exitNothing {
				t.Fatalf("after %q: exit %d\n%s", fell, code, text)
			}
			break
		}
		w.fell(k)
		points := strings.Split(strings.TrimSpace(content(t, log)), "\n")
		_, last, _ := strings.Cut(points[len(points)-1], " ")
		fell = append(fell, last)
		delete(missing, last)
		if len(missing) == 0 || w.waits(i) || i > 0 && subj.way[i].args[0] != "resume" {
			break
		}
		act = w.resume
	}
	t.Logf("killed at %q", fell)
	w.recover(i)
	w.walk(i + 1)
	for _, wrong := range w.differences(c.want, k == power) {
		t.Errorf("after kills at %q: %s", fell, wrong)
	}
}

// shuffled returns a source of random numbers, which are the same in each run.
func shuffled(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 7)) }

// promised reports whether a power loss must not cause a difference there. This holds for events, the files that they
// name, and the files made from events. All other files of the session may be older or missing.
func promised(where string) bool {
	if strings.HasPrefix(where, "events: ") || strings.HasPrefix(where, "questions/") {
		return true
	}
	switch filepath.Base(where) {
	case "state.json", "plan.json", "result.json":
		return true
	}
	return false
}
