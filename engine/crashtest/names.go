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

// names holds the names that are unique to a session.
type names struct {
	replacer *strings.Replacer
	// session is the session's name. pattern matches it in texts: in the path of its directory, in its
	// progress file and its title.
	session string
	pattern *regexp.Regexp
	// recovery holds the ids of questions caused by interrupted attempts, escalations the names of their
	// files without extension.
	recovery    map[string]bool
	escalations []string
}

// replace replaces these names in a text by placeholders.
func (n names) replace(text string) string {
	return n.pattern.ReplaceAllString(n.replacer.Replace(text), "${1}"+sessionPlaceholder+"${2}")
}

// sessionPlaceholder replaces the session's name.
const sessionPlaceholder = "<session>"

// isRecoveryFile reports whether a file exists only because of an interrupted attempt.
func (n names) isRecoveryFile(name string) bool {
	dir, file, _ := strings.Cut(name, "/")
	id, _, _ := strings.Cut(file, ".")
	return dir == "questions" && n.recovery[id] || dir == "escalations" && slices.Contains(n.escalations, id)
}

// newNames finds the names of a session: the root, the session, the run, the request, and the escalations,
// which contain times.
func newNames(dir, root string, journal []event.Event) (names, error) {
	n := names{recovery: map[string]bool{}, session: filepath.Base(dir)}
	n.pattern = regexp.MustCompile(`(pipeline-runs/|progress-|# Progress: )` + regexp.QuoteMeta(n.session) + `([^A-Za-z0-9_-]|$)`)
	for _, e := range journal {
		if id := recoveryQuestion(e); id != "" {
			n.recovery[id] = true
		}
	}
	replace := replacements{}
	replace.add(root, "<root>")
	for _, e := range journal {
		replace.add(e.RunID, "<run>")
	}
	request, err := requestID(dir)
	if err != nil {
		return names{}, err
	}
	replace.add(request, "<request>")
	found, err := listEscalations(dir)
	if err != nil {
		return names{}, err
	}
	for i, esc := range found {
		if n.recovery[esc.question] {
			n.escalations = append(n.escalations, esc.id)
			continue
		}
		replace.add(esc.id, fmt.Sprintf("<escalation %d>", i+1-len(n.escalations)))
	}
	n.replacer = replace.replacer()
	return n, nil
}

// replacements maps names to placeholders. Longer names are replaced first, because one may begin with
// another.
type replacements map[string]string

func (r replacements) add(name, by string) {
	if name != "" {
		r[name] = by
	}
}

func (r replacements) replacer() *strings.Replacer {
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

// requestID returns the request id of the run's input, "" for none.
func requestID(dir string) (string, error) {
	v, err := readYAML(filepath.Join(dir, "artifacts", "input.yaml"))
	id, _ := v["request_id"].(string)
	return id, err
}

// escalation is an escalation file.
type escalation struct{ id, question string }

// listEscalations returns the escalations of a session, oldest first.
func listEscalations(dir string) ([]escalation, error) {
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
		n, _ := strconv.Atoi(number) // 0 if there is none
		return at, n
	}
	atA, nA := timeOf(a)
	atB, nB := timeOf(b)
	return cmp.Or(strings.Compare(atA, atB), cmp.Compare(nA, nB))
}

// readYAML reads a file with an object; nil if the file is missing or holds none.
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

// normalize removes the members in drop from a JSON value, replaces names, and compares digests with the
// files.
func (r reader) normalize(v any, drop []string) any {
	for _, at := range drop {
		dropMember(v, strings.Split(at, "."))
	}
	return r.replaceNames(v)
}

// dropMember removes a member from a value; * matches any member or element.
func dropMember(v any, at []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(at) == 1 {
			delete(v, at[0])
			return
		}
		for key, member := range v {
			if at[0] == "*" || at[0] == key {
				dropMember(member, at[1:])
			}
		}
	case []any:
		if len(at) > 1 && at[0] == "*" {
			for _, element := range v {
				dropMember(element, at[1:])
			}
		}
	}
}

// replaceNames replaces names in a value, and each file reference by the file's status.
func (r reader) replaceNames(v any) any {
	switch v := v.(type) {
	case string:
		return r.replace(v)
	case []any:
		for i := range v {
			v[i] = r.replaceNames(v[i])
		}
		return v
	case map[string]any:
		if name, digest, is := parseRef(v); is {
			return map[string]any{"path": r.replace(name), "file": r.fileStatus(name, digest)}
		}
		settled := make(map[string]any, len(v))
		for key, member := range v {
			if key == "session" && member == r.session {
				member = sessionPlaceholder
			}
			settled[r.replace(key)] = r.replaceNames(member)
		}
		return settled
	default:
		return v
	}
}

// parseRef reports whether a value is an [event.Ref].
func parseRef(v map[string]any) (name, digest string, is bool) {
	name, named := v["path"].(string)
	digest, digested := v["sha256"].(string)
	_, sized := v["size"]
	return name, digest, named && sized && (digested && len(v) == 3 || len(v) == 2)
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
