package characterise

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A rule replaces one kind of text that differs between two runs or two machines.
type rule struct {
	pattern *regexp.Regexp
	with    string
}

// rules apply in this order to every recorded text.
var rules = []rule{
	{regexp.MustCompile(`(?m)^(Killed|.*slow journal write.*|.*waiting for a plugin.s description.*|.*ended unexpectedly \(signal: killed\).*|.*"type":"plugin_crashed".*)\n`), ``}, // these lines appear depending on the load
	{regexp.MustCompile(`\b\d{8}T\d{6}\.\d+Z-[a-z0-9]+\b`), `CONTROL-ID`},
	{regexp.MustCompile(`("control":\s*|\{"id":)"[0-9a-f]{16}"`), `$1"CONTROL-ID"`},
	{regexp.MustCompile(`(ESC|REQ)-\d{14}(-[0-9a-f]+)?\b`), `$1-ID`},
	{regexp.MustCompile(`\b([a-z]+)-20\d{6}-\d{6}\b`), `$1-GENERATED`},
	{regexp.MustCompile(`(\b(?:duration_seconds|bytes): )[\d.]+`), `${1}N`},
	{regexp.MustCompile(`(\byes +)\d+( +\.claude/)`), `${1}N${2}`},           // sizes in the list of artifacts
	{regexp.MustCompile(`("(?:size|bytes|event_seq|seq)":\s*)\d+`), `${1}N`}, // sizes differ because files contain durations
	{regexp.MustCompile(`\b\d+ bytes\b`), `N bytes`},
	{regexp.MustCompile(`="\d+\.\d+"`), `="N"`}, // coordinates of the timeline in a report
	{regexp.MustCompile(`,\s*"(duration_\w+|elapsed_\w+)":\s*\d+(\.\d+)?`), ``},
	{regexp.MustCompile(`"(duration_\w+|elapsed_\w+)":\s*\d+(\.\d+)?,?\s*`), ``},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z| UTC|[+-]\d\d:?\d\d)?`), `TIME`},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`), `DATE`},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`), `CLOCK`},
	{regexp.MustCompile(`\b[A-Z]{1,4}-\d{14}-[0-9a-f]{8}\b`), `RUN-ID`},
	{regexp.MustCompile(`"(trace_id|span_id|parent_span_id)":("[0-9a-f]*")`), `"$1":"X"`},
	{regexp.MustCompile(`,"prev":"[\w-]{22}"`), ``},
	{regexp.MustCompile(`"start_time":\s*"[^"]*/\d+"`), `"start_time":"BOOT"`},
	{regexp.MustCompile(`("pid":\s*|\bpid[= ]|\bPID )\d+`), `${1}PID`},
	{regexp.MustCompile(`(commit |"commit": ?")[0-9a-f]{40}`), `${1}COMMIT`},
	{regexp.MustCompile(`\b0\.0\.0-dev(\+[0-9a-z.]+)?`), `VERSION`},
	{regexp.MustCompile(`\bgo1\.\d+(\.\d+)?\b`), `GOVERSION`},
	{regexp.MustCompile(`\b(linux|darwin)/(amd64|arm64)\b`), `OS/ARCH`},
	{regexp.MustCompile(`"sandbox":\s*\{[^{}]*\}`), `"sandbox":{}`},
	{regexp.MustCompile(`\b\d+d\d+h\b|\b\d{3,}d\b`), `DUR`},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ns|µs|ms|s)\b`), `DUR`},
	{regexp.MustCompile(` *\bDUR\b *`), ` DUR `},
	{regexp.MustCompile(`(?m) DUR $`), ` DUR`},
}

// envelope shortens the members that every event of a journal has, where they have their usual form and order.
var envelope = strings.NewReplacer(
	`{"ts":"TIME","type":`, `{"type":`, `"timestamp":"TIME","v":1,"seq":N,"run_id":"RUN-ID",`, `…`,
	`,"trace_id":"X","span_id":"X","parent_span_id":"X"}`, `,…}`, `,"trace_id":"X","span_id":"X"}`, `…}`)

var (
	deepPattern     = regexp.MustCompile(`\n {4,}`)
	sha256Pattern   = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	handledPattern  = regexp.MustCompile(`"handled":\s*\[[^\]]*\]`)
	controlPattern  = regexp.MustCompile(`"[0-9a-f]{16}"`)
	questionPattern = regexp.MustCompile(`\bq-[0-9a-f]{6,}\b`)
	columnsPattern  = regexp.MustCompile(`(\S) {2,}`)
	branchLine      = regexp.MustCompile(`^ +(Started \S+|[✓✗] \S+ .*|\S+: .*)\n`) // of parallel progress
	branchPattern   = regexp.MustCompile(`"cursor":\{[^{}]*"provider":"([^"]*)"`)
)

// A normaliser replaces the texts that differ between two runs of a case. It numbers questions in the order of their
// first appearance.
type normaliser struct {
	paths     *strings.Replacer
	stable    map[string]bool // digests of contents that are the same in each run
	questions map[string]string
}

func newNormaliser(root, dir string) *normaliser {
	return &normaliser{
		paths: strings.NewReplacer(
			filepath.Join(dir, "project/.claude/pipeline-runs"), "$RUNS", filepath.Join(dir, "project"), "$PROJECT", filepath.Join(dir, "home"), "$HOME", filepath.Join(dir, "tmp"), "$TMP", dir, "$DIR",
			filepath.Join(root, "bin"), "$BIN", root, "$ROOT", filepath.Base(root), "$ROOTNAME"),
		stable: map[string]bool{}, questions: map[string]string{},
	}
}

// text applies all replacements.
func (n *normaliser) text(text string) string {
	text = n.paths.Replace(text)
	for _, r := range rules {
		text = r.pattern.ReplaceAllString(text, r.with)
	}
	text = handledPattern.ReplaceAllStringFunc(text, func(ids string) string {
		return controlPattern.ReplaceAllString(ids, `"CONTROL-ID"`)
	})
	text = questionPattern.ReplaceAllStringFunc(text, func(id string) string {
		if n.questions[id] == "" {
			n.questions[id] = fmt.Sprintf("q-%d", len(n.questions)+1)
		}
		return n.questions[id]
	})
	return sha256Pattern.ReplaceAllStringFunc(text, func(digest string) string {
		if n.stable[digest] {
			return "SHA256:" + digest[:12]
		}
		return "SHA256"
	})
}

func (n *normaliser) path(path string) string { return n.text(filepath.ToSlash(path)) }

// output normalises the output of a command. If the output has durations, it normalises the columns, too, because their
// width depends on the durations.
func (n *normaliser) output(text string, sorted bool) string {
	text = sortProgress(n.text(sortBranches(text)))
	if strings.Contains(text, "DUR") {
		text = columnsPattern.ReplaceAllString(text, "$1  ")
	}
	if !sorted {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// file normalises the content of a file. It joins the lines of JSON below the first level, to keep records small.
func (n *normaliser) file(path, text string) string {
	switch filepath.Ext(path) {
	case ".jsonl":
		text = envelope.Replace(n.text(sortBranches(text)))
	case ".json":
		text = deepPattern.ReplaceAllString(n.text(text), " ")
	default:
		text = n.text(text)
	}
	return text
}

// sortBranches orders the neighbouring events of parallel branches by branch, and the starts of plugins by plugin. The
// order within a branch stays.
func sortBranches(text string) string {
	lines := strings.SplitAfter(text, "\n")
	key := func(line string) string {
		if branch := branchPattern.FindStringSubmatch(line); branch != nil {
			return branch[1]
		}
		if strings.Contains(line, `"type":"plugin_started"`) {
			_, plugin, _ := strings.Cut(line, `"plugin":`)
			return plugin
		}
		return ""
	}
	for start := 0; start < len(lines); start++ {
		end := start
		for end < len(lines) && key(lines[end]) != "" {
			end++
		}
		slices.SortStableFunc(lines[start:end], func(a, b string) int { return strings.Compare(key(a), key(b)) })
		start = max(start, end-1)
	}
	return strings.Join(lines, "")
}

// sortProgress sorts the lines of the progress of parallel branches, between the box of a block and its last line.
func sortProgress(text string) string {
	lines := strings.SplitAfter(text, "\n")
	inBlock, start := false, 0
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "│ Parallel Block: "):
			inBlock = true
		case inBlock && strings.HasPrefix(line, "└"):
			start = i + 1
		case inBlock && start > 0 && !branchLine.MatchString(line) && line != "\n":
			slices.Sort(lines[start:i])
			inBlock, start = false, 0
		}
	}
	return strings.Join(lines, "")
}

// learnDigests stores the digests of files in which nothing is replaced. Records keep only the digests of such files.
func (n *normaliser) learnDigests(project string) error {
	return filepath.WalkDir(project, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		digest := hex.EncodeToString(sum[:])
		n.stable[digest] = n.text(string(data)) == string(data)
		return nil
	})
}
