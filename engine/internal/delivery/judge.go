package delivery

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testfirst"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// CheatCode is the code of a delivery that is not what it has to be.
const CheatCode = "CHEAT-DELIVERY"

// Change is the change of a run, and how it has to be handed over.
type Change struct {
	Dir    string // the project
	Mode   plan.DeliveryMode
	SpecID string
	Start  State    // of the repository before the run
	Files  []string // that differ from the start of the run, from Dir
	// File returns the mode and the content of a file of the workspace, the mode "" for a missing one.
	File func(name string) (mode, content string, err error)
}

// SpecFile is the copy of the specification, which belongs to a commit.
func (c Change) SpecFile() string { return "specs/" + c.SpecID + ".yaml" }

// PatchFile is the patch of mode patch.
func (c Change) PatchFile() string { return "specs/" + c.SpecID + ".patch" }

func (c Change) branch() string { return "feature/" + c.SpecID }

// Judge compares the repository with the change. It returns the measured values of [plan.DeliveryFields] and the cheat that
// it found, nil for none. A value that the mode does not have is nil.
func (c Change) Judge(ctx context.Context) (map[string]any, *testfirst.Cheat, error) {
	facts := map[string]any{}
	for _, name := range plan.DeliveryFields {
		facts[name] = nil
	}
	facts["deliverable_type"], facts["spec_id"], facts["files_modified"], facts["status"] = c.Mode, c.SpecID, append([]string{}, c.Files...), "staged"
	if len(c.Files) == 0 {
		facts["status"] = "no_changes"
	}
	now, err := Read(ctx, c.Dir)
	switch {
	case err != nil:
		return facts, nil, err
	case !slices.Equal(now.Remotes, c.Start.Remotes):
		return facts, cheatf("the settings of git that say where a push goes were changed: restore remote, url and credential in git config"), nil
	case !c.Mode.Commits():
		return facts, c.judgeUncommitted(ctx, now), nil
	}
	facts["status"], facts["commit_sha"], facts["branch_name"] = "committed", now.Head, strings.TrimPrefix(now.Branch, "refs/heads/")
	cheat, err := c.judgeCommit(ctx, now, facts)
	return facts, cheat, err
}

func cheatf(format string, args ...any) *testfirst.Cheat {
	return &testfirst.Cheat{Code: CheatCode, Message: fmt.Sprintf(format, args...)}
}

// judgeUncommitted judges a change that stays in the working tree.
func (c Change) judgeUncommitted(ctx context.Context, now State) *testfirst.Cheat {
	ref := moved(ctx, c.Dir, c.Start, now)
	switch {
	case now.Head != c.Start.Head:
		return cheatf("a commit was made: HEAD was %s and is %s, and delivery_mode is %s", orNone(c.Start.Head), orNone(now.Head), c.Mode)
	case now.Branch != c.Start.Branch:
		return cheatf("HEAD is on %s and was on %s, and delivery_mode is %s", orNone(now.Branch), orNone(c.Start.Branch), c.Mode)
	case ref != "":
		return cheatf("%s was %s and is %s, and delivery_mode is %s", ref, orNone(c.Start.Refs[ref]), orNone(now.Refs[ref]), c.Mode)
	case !slices.Equal(now.Staged, c.Start.Staged):
		return cheatf("the index was changed, and delivery_mode is %s: restore it with git reset -q", c.Mode)
	default:
		return nil
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// judgeCommit judges the commit and adds what it holds to the facts.
func (c Change) judgeCommit(ctx context.Context, now State, facts map[string]any) (*testfirst.Cheat, error) {
	branch := "refs/heads/" + c.branch()
	switch {
	case now.Head == c.Start.Head:
		return cheatf("no commit was made, and delivery_mode is %s", c.Mode), nil
	case now.Branch != branch:
		return cheatf("HEAD is on %s: the commit has to be on the branch %s", orNone(now.Branch), c.branch()), nil
	}
	raw, err := git(ctx, c.Dir, "cat-file", "commit", now.Head) // log would follow grafts
	if err != nil {
		return nil, err
	}
	header, message, _ := strings.Cut(raw, "\n\n")
	facts["commit_message"] = strings.TrimSpace(message)
	parents := slices.DeleteFunc(slices.Collect(strings.Lines(header)), func(line string) bool { return !strings.HasPrefix(line, "parent ") })
	if strings.TrimSpace(strings.Join(parents, "")) != strings.TrimSpace("parent "+c.Start.Head) && (c.Start.Head != "" || len(parents) > 0) {
		return cheatf("the branch has not exactly one commit on top of %s, which HEAD was before the run: git reset --soft %[1]s keeps the files", orNone(c.Start.Head)), nil
	}
	pushed := ""
	if c.Mode == plan.DeliverPR { // by the action deliver, in an earlier visit
		pushed = "refs/remotes/origin/" + c.branch()
	}
	if ref := moved(ctx, c.Dir, c.Start, now, branch, pushed); ref != "" {
		return cheatf("%s was %s and is %s: only the branch %s may be made", ref, orNone(c.Start.Refs[ref]), orNone(now.Refs[ref]), c.branch()), nil
	}
	committed, err := c.committed(ctx, now)
	facts["files_staged"] = committed
	if err != nil {
		return nil, err
	}
	if cheat, err := c.compareFiles(ctx, now, committed); cheat != nil || err != nil {
		return cheat, err
	}
	if len(now.Staged) > 0 {
		return cheatf("the index differs from the commit: %s", list(now.Staged)), nil
	}
	return c.judgeMessage(message), nil
}

// committed returns the files of the commit, from the project; others begin with ../.
func (c Change) committed(ctx context.Context, now State) ([]string, error) {
	start, err := commitOrEmptyTree(ctx, c.Dir, c.Start.Head)
	if err != nil {
		return nil, err
	}
	prefix, err := git(ctx, c.Dir, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	out, err := git(ctx, c.Dir, "diff-tree", "-r", "-z", "--no-renames", "--name-only", start, now.Head)
	files := []string{}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		within, found := strings.CutPrefix(name, strings.TrimSpace(prefix))
		switch {
		case name == "":
		case found:
			files = append(files, within)
		default:
			files = append(files, "../"+name)
		}
	}
	return files, err
}

// compareFiles judges whether the commit has the change, all of it and nothing else.
func (c Change) compareFiles(ctx context.Context, now State, committed []string) (*testfirst.Cheat, error) {
	var foreign, left []string
	for _, name := range committed {
		same, err := slices.Contains(c.Files, name), error(nil)
		if name == c.SpecFile() {
			same, err = c.isCommitted(ctx, now, name)
		}
		if err != nil {
			return nil, err
		}
		if !same {
			foreign = append(foreign, name)
		}
	}
	for _, name := range c.Files {
		if !slices.Contains(committed, name) {
			left = append(left, name)
			continue
		}
		same, err := c.isCommitted(ctx, now, name)
		if err != nil {
			return nil, err
		}
		if !same {
			left = append(left, name)
		}
	}
	switch {
	case len(committed) == 0:
		return cheatf("the commit is empty"), nil
	case len(foreign) > 0:
		return cheatf("the commit has files that the run did not change: %s", list(foreign)), nil
	case len(left) > 0:
		return cheatf("the commit lacks a part of the change: %s", list(left)), nil
	default:
		return nil, nil //nolint:nilnil // no cheat
	}
}

// isCommitted reports whether the commit has a file as the workspace has it. Line ends and the id of a keyword may differ,
// a pointer of Git LFS may stand for the content, and the right to execute the file may be missing. No filter runs, because
// an agent can configure one that changes the content or acts outside of a sandbox.
func (c Change) isCommitted(ctx context.Context, now State, name string) (bool, error) {
	mode, content, err := c.File(name)
	if err != nil {
		return false, err
	}
	entry, err := git(ctx, c.Dir, "ls-tree", now.Head, "--", ":(literal)"+name)
	if err != nil {
		return false, err
	}
	fields := strings.Fields(entry) // mode, type, id, name
	if len(fields) < 4 || mode == "" {
		return mode == "" && len(fields) == 0, nil
	}
	if fields[0] != mode && (fields[0] != "100644" || mode != "100755") {
		return false, nil
	}
	stored, err := git(ctx, c.Dir, "cat-file", "blob", fields[2])
	if err != nil || stored == content {
		return err == nil, err
	}
	plain := func(text string) string {
		return keyword.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "$$Id$$")
	}
	sum := sha256.Sum256([]byte(content))
	pointer := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%x\nsize %d\n", sum, len(content))
	return plain(stored) == plain(content) || stored == pointer, nil
}

// keyword matches the keyword that git expands in files with the attribute ident (gitattributes(5)).
var keyword = regexp.MustCompile(`\$Id: [0-9a-f]{40,64} \$`)

// The form of a commit's message.
const (
	titlePrefix = "feat: "
	maxTitle    = 50
	maxFiles    = 10
)

var filesLine = regexp.MustCompile(`(?m)^Files:(.*)$`)

func (c Change) judgeMessage(message string) *testfirst.Cheat {
	subject, _, _ := strings.Cut(message, "\n")
	title, found := strings.CutPrefix(subject, titlePrefix)
	files := 0
	for _, line := range filesLine.FindAllStringSubmatch(message, -1) {
		files += len(strings.Split(line[1], ","))
	}
	switch {
	case !found || title == "":
		return cheatf("the message of the commit does not begin with %sand the title", titlePrefix)
	case utf8.RuneCountInString(title) > maxTitle:
		return cheatf("the title in the message of the commit has more than %d characters", maxTitle)
	case files > maxFiles:
		return cheatf("the message of the commit names more than %d files", maxFiles)
	case !slices.Contains(strings.Split(message, "\n"), "Spec: "+c.SpecID):
		return cheatf("the message of the commit has no line: Spec: %s", c.SpecID)
	default:
		return nil
	}
}
