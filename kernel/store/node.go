package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Node is the directory of a node in one visit and run, or of one branch or step of it, relative to
// the session.
type Node string

// At finds the directory of a place:
//
//	stage-NN-<id>/[visit-VVV/][run-RRR/][steps/<step>/]
//	parallel-NN-<id>/[visit-VVV/][run-RRR/]providers/<branch>/stage-MM-<id>/[steps/<step>/]
//	pipeline-NN-<id>/run-RRR/stage-MM-<id>/[visit-VVV/][steps/<step>/]
//
// NN is the position in the list of nodes. The first visit and run are left out, as the Bash engine
// knows only those; a nested pipeline always shows its run, and its runs count on over its visits.
// A place with a branch and the block's own path is the branch's directory. An error means that the
// plan has no such node.
func At(p *plan.Plan, at event.Location) (Node, error) {
	w := nodePath{location: at, path: at.Node}
	if err := w.descend(p.Nodes); err != nil {
		return "", err
	}
	if at.Step != "" {
		w.add("steps", pathElement(at.Step))
	}
	return Node(path.Join(w.elements...)), nil
}

// Provider is the directory of the provider that the place is at in a parallel block.
func Provider(p *plan.Plan, at event.Location) (Node, error) {
	return At(p, event.Location{Node: at.Outer(), Visit: at.Visit, Run: at.Run, Branch: at.Branch})
}

// nodePath goes from the session down to a node.
type nodePath struct {
	location event.Location
	path     string // of the node in the plan that the walk is in
	elements []string
	nested   bool // inside a pipeline node, which used up the run
	block    bool // inside a parallel block, which used up visit and run
}

func (w *nodePath) add(elements ...string) { w.elements = append(w.elements, elements...) }

func (w *nodePath) descend(nodes []plan.Node) error {
	i := slices.IndexFunc(nodes, func(n plan.Node) bool {
		return n.Path == w.path || strings.HasPrefix(w.path, n.Path+".")
	})
	if i < 0 {
		return fmt.Errorf("the plan has no node %q", w.location.Node)
	}
	n := nodes[i]
	w.add(fmt.Sprintf("%s-%02d-%s", n.Kind, i, pathElement(n.ID)))
	switch n.Kind {
	case plan.KindPipeline:
		w.nested = true
		w.add(numbered("run", max(w.location.Run, 1)))
	case plan.KindParallel:
		w.addVisitAndRun()
		w.block = true
		if w.location.Branch != "" {
			w.add("providers", pathElement(w.location.Branch))
		}
	case plan.KindStage:
		w.addVisitAndRun()
	}
	switch {
	case n.Path == w.path:
		return nil
	case n.Plan != nil: // its nodes have the paths that they have without the others
		w.path = strings.TrimPrefix(w.path, n.Path+".")
		return w.descend(n.Plan.Nodes)
	default:
		return w.descend(n.Stages)
	}
}

// addVisitAndRun adds the visit and the run from the second one on.
func (w *nodePath) addVisitAndRun() {
	if w.block {
		return
	}
	if w.location.Visit > 1 {
		w.add(numbered("visit", w.location.Visit))
	}
	if w.location.Run > 1 && !w.nested {
		w.add(numbered("run", w.location.Run))
	}
}

func numbered(word string, n int) string { return fmt.Sprintf("%s-%03d", word, n) }

// Manifest is the manifest of a parallel block's directory.
func (n Node) Manifest() string { return path.Join(string(n), "manifest.json") }

// State is the view of a provider's state, for the directory of a provider.
func (n Node) State() string { return path.Join(string(n), StateFile) }

// Calls is the list of the tool calls of a step, for the directory of the step.
func (n Node) Calls() string { return path.Join(string(n), "calls.jsonl") }

// Progress is the node's progress file; for the directory of a branch, the provider's.
func (n Node) Progress() string { return path.Join(string(n), "progress.md") }

// Output is where a pipeline keeps the raw output of an iteration at the level of the stage:
// output.md if the node has one iteration at most, else run-<iteration-1>.md.
func (n Node) Output(iteration, most int) string {
	name := "output.md"
	if most != 1 {
		name = fmt.Sprintf("run-%d.md", iteration-1)
	}
	return path.Join(string(n), name)
}

// Check is the file with what a check at the entry of the node measured.
func (n Node) Check(id string) string { return checkFile(string(n), id) }

func checkFile(dir, id string) string { return path.Join(dir, "checks", pathElement(id)+".json") }

// StepFile is the file with a step of the node as its artifact has it.
func (n Node) StepFile(step string) string {
	return path.Join(string(n), "steps", pathElement(step), "step.json")
}

// Iteration is the directory of an iteration, counted from 1.
func (n Node) Iteration(i int) Iteration {
	return Iteration(path.Join(string(n), "iterations", fmt.Sprintf("%03d", i)))
}

// Iteration is the directory of one iteration, relative to the session.
type Iteration string

func (i Iteration) file(name string) string { return path.Join(string(i), name) }

// Context is what the agent is told in JSON.
func (i Iteration) Context() string { return i.file("context.json") }

// Result is the agent's result, normalized afterwards.
func (i Iteration) Result() string { return i.file("result.json") }

// Status is the older form of the result, if the agent wrote that.
func (i Iteration) Status() string { return i.file("status.json") }

// Output is what the agent said, absent if it said nothing.
func (i Iteration) Output() string { return i.file("output.md") }

// Artifact is where the agent puts the artifact of a node that makes one, and ArtifactJSON where one in JSON may lie
// instead.
func (i Iteration) Artifact() string { return i.file("artifact.yaml") }

// ArtifactJSON is an artifact in JSON.
func (i Iteration) ArtifactJSON() string { return i.file("artifact.json") }

// ArtifactCall is where the kernel keeps the arguments of the tool call that handed the artifact over, JSON.
func (i Iteration) ArtifactCall() string { return i.file("artifact-call.json") }

// Check is the file with what a check after the attempt measured.
func (i Iteration) Check(id string) string { return checkFile(string(i), id) }

// Left is the artifact that the attempt left, for checks to read; no check has its name, since an id's file ends in .json.
func (i Iteration) Left() string { return i.file("checks/artifact.yaml") }

// Feedback is what the iteration's outcome tells whoever works next.
func (i Iteration) Feedback() string { return i.file("feedback.md") }

// Attempts has a line for each attempt.
func (i Iteration) Attempts() string { return i.file("attempts.jsonl") }

// Error is the record of the iteration's failure.
func (i Iteration) Error() string { return i.file("error.json") }

// Judge is the decision of the judge, JudgeLog its raw answer.
func (i Iteration) Judge() string { return i.file("judge.json") }

// JudgeLog is the judge's raw answer.
func (i Iteration) JudgeLog() string { return i.file("judge.log") }

// Question is the prompt of the n-th question that the termination strategy asked about the iteration,
// counted from 1, and Answer what a provider said to it.
func (i Iteration) Question(n int) string { return i.file(fmt.Sprintf("question-%d.md", n)) }

// Answer is what a provider said to the n-th question.
func (i Iteration) Answer(n int) string { return i.file(fmt.Sprintf("answer-%d.md", n)) }

// Attempt is the private directory of an attempt, counted from 1: checkpoints and whatever is too
// large for a message. Make it with [Store.MkdirPrivate].
func (i Iteration) Attempt(n int) string { return i.file(fmt.Sprintf("attempts/%02d", n)) }

// maxPathElement is the longest path element kept as it is, in bytes; file systems allow 255.
const maxPathElement = 120

// pathElement makes one path element of a name that people or agents chose. Nearly all names stay as
// they are; a name that no file can have is cleaned and told apart by a hash.
func pathElement(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == utf8.RuneError || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
	if len(clean) > maxPathElement {
		clean = strings.ToValidUTF8(clean[:maxPathElement], "")
	}
	if strings.Trim(clean, ".") == "" { // "", ".", ".."
		clean = strings.Repeat("_", len(clean)+1)
	}
	if clean == name {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return clean + "-" + hex.EncodeToString(sum[:4])
}
