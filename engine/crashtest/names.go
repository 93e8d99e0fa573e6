package crashtest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// names holds the names that are unique to a session, and replaces them by placeholders.
type names struct {
	replacer *strings.Replacer
	// session is the session's name. pattern matches that name in texts: in the path of the session's directory, and
	// in the name and title of its progress file.
	session string
	pattern *regexp.Regexp
	// recovery holds the ids of questions caused by interrupted attempts, escalations the names of their
	// files without extension.
	recovery    map[string]bool
	escalations []string
}

// replace replaces the session's names in a text by placeholders.
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
	replace := replacements{}
	replace.add(root, "<root>")
	escalation, number := "", 0
	for _, e := range journal {
		replace.add(e.RunID, "<run>")
		if questionKind(e) != event.QuestionEscalation {
			continue
		}
		escalation = state.EscalationName(escalation, e.Time)
		if e.Key.Kind() == event.KeyAttempt { // asks whether an interrupted attempt may be repeated
			n.recovery[questionID(e)] = true
			n.escalations = append(n.escalations, escalation)
		} else {
			number++
			replace.add(escalation, fmt.Sprintf("<escalation %d>", number))
		}
	}
	request, err := requestID(dir)
	if err != nil {
		return names{}, err
	}
	replace.add(request, "<request>")
	n.replacer = replace.replacer()
	return n, nil
}

// replacements maps names to placeholders.
type replacements map[string]string

func (r replacements) add(name, by string) {
	if name != "" {
		r[name] = by
	}
}

// replacer returns a replacer that tries longer names first, because one name may begin with another.
func (r replacements) replacer() *strings.Replacer {
	var pairs []string
	for _, name := range slices.SortedFunc(maps.Keys(r), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
		pairs = append(pairs, name, r[name])
	}
	return strings.NewReplacer(pairs...)
}

// requestID returns the request id of the run's input, "" for none.
func requestID(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "artifacts", "input.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	v, _ := decodeYAML(b)
	input, _ := v.(map[string]any)
	id, _ := input["request_id"].(string)
	return id, err
}

// reader reads one session.
type reader struct {
	dir string
	names
}

// Status of a referenced file.
const (
	refMatches = "as named"
	refChanged = "changed since"
	refMissing = "gone"
)

// fileStatus compares a file with the digest of its reference, "" for none.
func (r reader) fileStatus(name, digest string) string {
	at := name
	if !path.IsAbs(name) {
		at = filepath.Join(r.dir, filepath.FromSlash(name))
	}
	b, err := os.ReadFile(at)
	switch {
	case err != nil: // also if it is a directory or unreadable
		return refMissing
	case digest != "" && digest != sha256Hex(b):
		return refChanged
	}
	return refMatches
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

// questionKind returns the kind of the question asked, "" for other events.
func questionKind(e event.Event) string {
	if e.Type != event.QuestionAsked {
		return ""
	}
	d, _ := event.Decode[event.QuestionAskedData](e)
	return d.Kind
}

// questionID returns the id of the event's question, "" for none.
func questionID(e event.Event) string {
	if e.Type != event.QuestionAsked && e.Type != event.QuestionAnswered {
		return ""
	}
	d, _ := event.Decode[event.QuestionAnsweredData](e) // both types have the member
	return d.ID
}

func decodeJSON(b []byte) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	return v, true
}

// decodeYAML decodes a document into the types of [decodeJSON].
func decodeYAML(b []byte) (any, bool) {
	tree, faults := yamldoc.ParseData(b)
	if tree == nil || len(faults) > 0 {
		return nil, false
	}
	return decodeJSON(tree.JSON())
}
