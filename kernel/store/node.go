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

// StateFile is the name of the state file of a session, and of a provider in a parallel block.
const StateFile = "state.json"

// Node is the directory of a node in one visit and run, or of one branch or step of it, relative to the
// session.
type Node string

// NodeAt returns the directory of a location:
//
//	stage-NN-<id>/[visit-VVV/][run-RRR/][steps/<step>/]
//	parallel-NN-<id>/[visit-VVV/][run-RRR/]providers/<branch>/stage-MM-<id>/[steps/<step>/]
//	pipeline-NN-<id>/run-RRR/stage-MM-<id>/[visit-VVV/][steps/<step>/]
//
// NN is the position in the list of nodes. The first visit and run are left out, because the Bash engine has only
// those. A nested pipeline always has its run, counted over all its visits. A location with a branch and the block's
// own path is the branch's directory. The error says that the plan has no such node.
func NodeAt(p *plan.Plan, loc event.Location) (Node, error) {
	w := nodePath{location: loc, path: loc.Node}
	if err := w.descend(p.Nodes); err != nil {
		return "", err
	}
	if loc.Step != "" {
		w.add("steps", pathElement(loc.Step))
	}
	return Node(path.Join(w.elements...)), nil
}

// ProviderAt returns the directory of the provider at the location in a parallel block.
func ProviderAt(p *plan.Plan, loc event.Location) (Node, error) {
	return NodeAt(p, event.Location{Node: loc.Outer(), Visit: loc.Visit, Run: loc.Run, Branch: loc.Branch})
}

// nodePath collects the path elements from the session's directory down to a node.
type nodePath struct {
	location event.Location
	path     string // of the node in the current plan
	elements []string
	nested   bool // inside a pipeline node, whose directory already has the run
	block    bool // inside a parallel block, whose directory already has visit and run
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
	case n.Plan != nil: // paths in an embedded plan are relative to it
		w.path = strings.TrimPrefix(w.path, n.Path+".")
		return w.descend(n.Plan.Nodes)
	default:
		return w.descend(n.Stages)
	}
}

// addVisitAndRun adds the visit and the run, each from number 2 on.
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

// Manifest returns the manifest file of a parallel block, for the directory of the block.
func (n Node) Manifest() string { return path.Join(string(n), "manifest.json") }

// State returns the state file of a provider, for the directory of a provider.
func (n Node) State() string { return path.Join(string(n), StateFile) }

// Calls returns the file with the tool calls of a step, for the directory of the step.
func (n Node) Calls() string { return path.Join(string(n), "calls.jsonl") }

// Progress returns the progress file of the node, or of the provider for the directory of a branch.
func (n Node) Progress() string { return path.Join(string(n), "progress.md") }

// Output returns the file of an iteration's raw output at the level of the stage. It is output.md if the node has at
// most one iteration, else run-<iteration-1>.md.
func (n Node) Output(iteration, most int) string {
	name := "output.md"
	if most != 1 {
		name = fmt.Sprintf("run-%d.md", iteration-1)
	}
	return path.Join(string(n), name)
}

// Check returns the file with the measurement of a check at the entry of the node.
func (n Node) Check(id string) string { return checkFile(string(n), id) }

func checkFile(dir, id string) string { return path.Join(dir, "checks", pathElement(id)+".json") }

// StepFile returns the file with a step's item from the artifact, as JSON.
func (n Node) StepFile(step string) string {
	return path.Join(string(n), "steps", pathElement(step), "step.json")
}

// Iteration returns the directory of an iteration, counted from 1.
func (n Node) Iteration(i int) Iteration {
	return Iteration(path.Join(string(n), "iterations", fmt.Sprintf("%03d", i)))
}

// Iteration is the directory of one iteration, relative to the session.
type Iteration string

func (i Iteration) file(name string) string { return path.Join(string(i), name) }

// Context returns the file of the agent's context, JSON.
func (i Iteration) Context() string { return i.file("context.json") }

// Result returns the file of the agent's result, which is normalized after the attempt.
func (i Iteration) Result() string { return i.file("result.json") }

// Status returns the file of the result in its older form, which an agent may write instead.
func (i Iteration) Status() string { return i.file("status.json") }

// Output returns the file of the agent's output; it is absent if there is none.
func (i Iteration) Output() string { return i.file("output.md") }

// Artifact returns the file in which the agent writes the node's artifact as YAML.
func (i Iteration) Artifact() string { return i.file("artifact.yaml") }

// ArtifactJSON returns the file in which the agent may write the artifact as JSON instead.
func (i Iteration) ArtifactJSON() string { return i.file("artifact.json") }

// ArtifactCall returns the file of the arguments of the tool call that submitted the artifact, JSON.
func (i Iteration) ArtifactCall() string { return i.file("artifact-call.json") }

// Check returns the file with the measurement of a check after the attempt.
func (i Iteration) Check(id string) string { return checkFile(string(i), id) }

// ArtifactCopy returns the file with the copy of the attempt's artifact that checks read. No check has the same file
// name, since a check's file ends in .json.
func (i Iteration) ArtifactCopy() string { return i.file("checks/artifact.yaml") }

// Feedback returns the file with the iteration's feedback for the next iteration.
func (i Iteration) Feedback() string { return i.file("feedback.md") }

// Attempts returns the file with one line per attempt.
func (i Iteration) Attempts() string { return i.file("attempts.jsonl") }

// Error returns the file with the record of the iteration's failure.
func (i Iteration) Error() string { return i.file("error.json") }

// Judge returns the file of the judge's decision.
func (i Iteration) Judge() string { return i.file("judge.json") }

// JudgeLog returns the file of the judge's raw answer.
func (i Iteration) JudgeLog() string { return i.file("judge.log") }

// Question returns the file with the prompt of the termination strategy's n-th question about the iteration, counted
// from 1.
func (i Iteration) Question(n int) string { return i.file(fmt.Sprintf("question-%d.md", n)) }

// Answer returns the file with a provider's answer to the n-th question.
func (i Iteration) Answer(n int) string { return i.file(fmt.Sprintf("answer-%d.md", n)) }

// Attempt returns the private directory of an attempt, counted from 1: checkpoints and data too large for a
// message. Make it with [Store.MkdirPrivate].
func (i Iteration) Attempt(n int) string { return i.file(fmt.Sprintf("attempts/%02d", n)) }

// maxPathElement is the longest path element that is kept unchanged, in bytes; file systems allow 255.
const maxPathElement = 120

// pathElement returns one path element for a name chosen by users or agents. Most names stay unchanged; a name
// that no file can have is cleaned and gets a hash.
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
