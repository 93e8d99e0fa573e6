package crashtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// names are what a session calls itself by, which no other session does.
type names struct {
	replacer *strings.Replacer
	// session is the session's name, and in is where it stands in texts: in the path of its directory, in that of the file that
	// agents keep notes in, and in its title.
	session string
	in      *regexp.Regexp
	// recovery are ids of questions that a person is asked only because an attempt was cut off, and escalations the names
	// of their files without the extension.
	recovery    map[string]bool
	escalations []string
}

// plain is a text in which these names are replaced.
func (n names) plain(text string) string {
	return n.in.ReplaceAllString(n.replacer.Replace(text), "${1}"+theSession+"${2}")
}

// theSession stands for the session's name.
const theSession = "<session>"

// ofRecovery reports whether a file is there only because an attempt was cut off.
func (n names) ofRecovery(name string) bool {
	dir, file, _ := strings.Cut(name, "/")
	id, _, _ := strings.Cut(file, ".")
	return dir == "questions" && n.recovery[id] || dir == "escalations" && slices.Contains(n.escalations, id)
}

// namesOf finds them: the root, the session's name, the run's id, that of the request, and those of escalations, which are
// times.
func namesOf(dir, root string, journal []event.Event) (names, error) {
	n := names{recovery: map[string]bool{}, session: filepath.Base(dir)}
	n.in = regexp.MustCompile(`(pipeline-runs/|progress-|# Progress: )` + regexp.QuoteMeta(n.session) + `([^A-Za-z0-9_-]|$)`)
	for _, e := range journal {
		if id := recoveryQuestion(e); id != "" {
			n.recovery[id] = true
		}
	}
	replace := newReplacing()
	replace.add(root, "<root>")
	for _, e := range journal {
		replace.add(e.RunID, "<run>")
	}
	request, err := requestID(dir)
	if err != nil {
		return names{}, err
	}
	replace.add(request, "<request>")
	found, err := escalationsIn(dir)
	if err != nil {
		return names{}, err
	}
	for i, of := range found {
		if n.recovery[of.question] {
			n.escalations = append(n.escalations, of.id)
			continue
		}
		replace.add(of.id, fmt.Sprintf("<escalation %d>", i+1-len(n.escalations)))
	}
	n.replacer = replace.replacer()
	return n, nil
}

// replacing collects what is replaced, the longer of two names first: one may begin with the other.
type replacing map[string]string

func newReplacing() replacing { return replacing{} }

func (r replacing) add(name, by string) {
	if name != "" {
		r[name] = by
	}
}

func (r replacing) replacer() *strings.Replacer {
	var list []string
	for name := range r {
		list = append(list, name)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, name := range list {
		pairs = append(pairs, name, r[name])
	}
	return strings.NewReplacer(pairs...)
}

// requestID is the id of what the run began with, "" where it has none.
func requestID(dir string) (string, error) {
	v, err := readYAML(filepath.Join(dir, "artifacts", "input.yaml"))
	id, _ := v["request_id"].(string)
	return id, err
}

// escalation is a file of an escalation.
type escalation struct{ id, question string }

// escalationsIn are those of a session, oldest first.
func escalationsIn(dir string) ([]escalation, error) {
	files, err := filepath.Glob(filepath.Join(dir, "escalations", "ESC-*.yaml"))
	if err != nil {
		return nil, err
	}
	var found []escalation
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if strings.HasSuffix(id, ".resolution") {
			continue
		}
		v, err := readYAML(file)
		if err != nil {
			return nil, err
		}
		question, _ := v["question"].(string)
		found = append(found, escalation{id, question})
	}
	slices.SortFunc(found, func(a, b escalation) int { return compareIDs(a.id, b.id) })
	return found, nil
}

// compareIDs orders ESC-<time> and ESC-<time>-<n>.
func compareIDs(a, b string) int {
	timeOf := func(id string) (string, int) {
		at, number, _ := strings.Cut(strings.TrimPrefix(id, "ESC-"), "-")
		n, _ := strconv.Atoi(number) // none is 0
		return at, n
	}
	atA, nA := timeOf(a)
	atB, nB := timeOf(b)
	return cmp.Or(strings.Compare(atA, atB), cmp.Compare(nA, nB))
}

// readYAML reads a file that holds an object; nil for a file that is not there, or holds none.
func readYAML(file string) (map[string]any, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, _ := decodeYAML(b)
	object, _ := v.(map[string]any)
	return object, nil
}

// clean is a JSON value without the members that drop names, in which names are replaced and digests of files are held
// against the files.
func (r reader) clean(v any, drop []string) any {
	for _, at := range drop {
		dropAt(v, strings.Split(at, "."))
	}
	return r.settled(v)
}

// dropAt takes a member out of a value; * stands for any member or element.
func dropAt(v any, at []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(at) == 1 {
			delete(v, at[0])
			return
		}
		for key, member := range v {
			if at[0] == "*" || at[0] == key {
				dropAt(member, at[1:])
			}
		}
	case []any:
		if len(at) > 1 && at[0] == "*" {
			for _, element := range v {
				dropAt(element, at[1:])
			}
		}
	}
}

// settled replaces names, and references to files by how they stand to the files.
func (r reader) settled(v any) any {
	switch v := v.(type) {
	case string:
		return r.plain(v)
	case []any:
		for i := range v {
			v[i] = r.settled(v[i])
		}
		return v
	case map[string]any:
		if name, digest, is := reference(v); is {
			return map[string]any{"path": r.plain(name), "file": r.standing(name, digest)}
		}
		settled := make(map[string]any, len(v))
		for key, member := range v {
			if key == "session" && member == r.session {
				member = theSession
			}
			settled[r.plain(key)] = r.settled(member)
		}
		return settled
	default:
		return v
	}
}

// reference reports whether a value is an [event.Ref].
func reference(v map[string]any) (name, digest string, is bool) {
	name, named := v["path"].(string)
	digest, digested := v["sha256"].(string)
	_, sized := v["size"]
	return name, digest, named && sized && (digested && len(v) == 3 || len(v) == 2)
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
