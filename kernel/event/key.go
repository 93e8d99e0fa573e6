package event

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Key is the stable name of an action that the scheduler requested:
//
//	<kind>:<node_path>/v<visit>/r<run>/<branch>/<step>/i<iteration>#<n>
//
// The same plan and history give the same key, so that a repeated command is recognized. Branch and step are "-" if
// there is none.
type Key string

// KeyKind is the kind of a key's action.
type KeyKind string

// The kinds of keys.
const (
	KeyAttempt  KeyKind = "attempt"
	KeyDecide   KeyKind = "decide"
	KeyQuestion KeyKind = "question"
	KeyCheck    KeyKind = "check"
	KeyHook     KeyKind = "hook"
	KeyTimer    KeyKind = "timer"
	KeyManifest KeyKind = "manifest"
	KeyRestart  KeyKind = "restart"  // of a node: number 1 is a restart beyond the limit, a higher number is a stage retry
	KeySettle   KeyKind = "settle"   // of an iteration, after its checks
	KeyPlan     KeyKind = "plan"     // of a node's steps
	KeyEscalate KeyKind = "escalate" // of a node that the user must decide about
	KeyInput    KeyKind = "input"    // of a node's input artifact
)

// Location is a position in a run. Visit and Run count from 1; Iteration is 0 outside iterations. Branch names a
// provider of a parallel block, and Node is then the path of the provider's stage ("1.0"). Step is an id of a node's
// steps.
type Location struct {
	Node      string `json:"node"`
	Visit     int    `json:"visit"`
	Run       int    `json:"run"`
	Branch    string `json:"branch,omitempty"`
	Step      string `json:"step,omitempty"`
	Iteration int    `json:"iteration"`
}

// Key returns the key of the n-th action of a kind at the location; n counts from 1.
func (p Location) Key(kind KeyKind, n int) Key {
	return Key(fmt.Sprintf("%s:%s/v%d/r%d/%s/%s/i%d#%d",
		kind, p.Node, p.Visit, p.Run, cmp.Or(p.Branch, "-"), cmp.Or(p.Step, "-"), p.Iteration, n))
}

// Outer returns the path of the node that the run is at: the block's inside a parallel block, else Node.
func (p Location) Outer() string {
	if i := strings.LastIndexByte(p.Node, '.'); p.Branch != "" && i >= 0 {
		return p.Node[:i]
	}
	return p.Node
}

// Contains reports whether loc is within p. The zero location is the whole run. A location without a branch is a node
// with everything inside it; a location with a branch is a provider at a stage of a block.
func (p Location) Contains(loc Location) bool {
	switch {
	case p.Node == "":
		return true
	case p.Branch != "":
		return p.Node == loc.Node && p.Branch == loc.Branch
	default:
		return p.Node == loc.Outer() || strings.HasPrefix(loc.Node, p.Node+".")
	}
}

// Cursor returns the location as events carry it. Outside parallel blocks node_run equals the iteration, as in the
// Bash engine; inside them it is 1, and the path is the block's.
func (p Location) Cursor() *Cursor {
	c := &Cursor{NodePath: p.Outer(), NodeRun: p.Iteration, Iteration: p.Iteration, Provider: p.Branch, Step: p.Step}
	if p.Branch != "" {
		c.NodeRun = 1
	}
	if p.Visit > 1 {
		c.Visit = p.Visit
	}
	return c
}

// Parse splits a key. ok is false if k is not a key of this format.
func (k Key) Parse() (kind KeyKind, loc Location, n int, ok bool) {
	head, rest, _ := strings.Cut(string(k), ":")
	node, rest, _ := strings.Cut(rest, "/")
	visit, rest, _ := strings.Cut(rest, "/")
	run, rest, _ := strings.Cut(rest, "/")
	branch, rest, _ := strings.Cut(rest, "/")
	step, rest, _ := strings.Cut(rest, "/")
	iteration, last, _ := strings.Cut(rest, "#")
	ok = inRange(head, 'a', 'z') && head != "" && inRange(strings.ReplaceAll(node, ".", ""), '0', '9') && branch != "" && step != "" &&
		parseCount(visit, "v", &loc.Visit) && parseCount(run, "r", &loc.Run) && parseCount(iteration, "i", &loc.Iteration) && parseCount(last, "", &n)
	if !ok {
		return "", Location{}, 0, false
	}
	loc.Node, loc.Branch, loc.Step = node, undash(branch), undash(step)
	return KeyKind(head), loc, n, true
}

// parseCount reads a number of one to nine digits after a prefix.
func parseCount(text, letter string, to *int) bool {
	digits, found := strings.CutPrefix(text, letter)
	if !found || digits == "" || len(digits) > 9 || !inRange(digits, '0', '9') {
		return false
	}
	n, err := strconv.Atoi(digits)
	*to = n
	return err == nil
}

// inRange reports whether all characters of a text are from first to last.
func inRange(text string, first, last byte) bool {
	for i := range len(text) {
		if text[i] < first || text[i] > last {
			return false
		}
	}
	return true
}

func undash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// Kind returns the part before the colon, "" for a key without a colon.
func (k Key) Kind() KeyKind {
	kind, _, found := strings.Cut(string(k), ":")
	if !found {
		return ""
	}
	return KeyKind(kind)
}

// Cursor is the Bash engine's position of an event, with additions of this engine at the end.
type Cursor struct {
	NodePath  string `json:"node_path"`
	NodeRun   int    `json:"node_run"` // for display: equal to Iteration outside blocks
	Iteration int    `json:"iteration"`
	Provider  string `json:"provider,omitempty"` // the branch of a parallel block
	Step      string `json:"step,omitempty"`
	Visit     int    `json:"visit,omitempty"` // only from the second visit on
	// Run is the run of the whole pipeline, only from the second run on and only in events of the scheduler; other
	// events have a key.
	Run   int    `json:"run,omitempty"`
	Phase string `json:"phase,omitempty"`
}
