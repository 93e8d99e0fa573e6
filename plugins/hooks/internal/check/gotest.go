package check

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
)

// goTest reads the output of go test -json, the events of test2json. Tests and subtests count. A package that failed
// without a failed test, such as a package that does not build, counts as a failed test.
type goTest struct {
	files    goFiles // only their tests count; nil for all
	began    bool
	tally    results
	packages map[string]*goPackage
}

// goPackage is a package that is still running.
type goPackage struct {
	running map[string]bool // tests that are still running
	failed  bool            // one of its tests has failed
}

// goEvent is a line of test2json (go doc test2json).
type goEvent struct {
	Action  string
	Package string
	Test    string
	Output  string
}

func readGoEvent(line []byte) (goEvent, bool) {
	var e goEvent
	line = bytes.TrimSpace(line)
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil {
		return goEvent{}, false
	}
	return e, e.Action != ""
}

func beginsGoTest(line []byte) bool {
	e, ok := readGoEvent(line)
	return ok && (e.Package != "" || e.Action == "build-output" || e.Action == "build-fail")
}

// goTextOutput matches the output of go test without -json.
var goTextOutput = regexp.MustCompile(`^(?:ok|FAIL|\?) {0,3}\t|^\s*--- (?:PASS|FAIL|SKIP): |^=== RUN `)

func (g *goTest) readLine(line []byte) []byte {
	e, ok := readGoEvent(line)
	if !ok {
		return line
	}
	g.began = true
	if e.Package != "" && !g.files.lacksPackage(e.Package) {
		g.countEvent(e)
	}
	return []byte(e.Output)
}

func (g *goTest) countEvent(e goEvent) {
	if g.packages == nil {
		g.packages = map[string]*goPackage{}
	}
	p := g.packages[e.Package]
	if p == nil {
		p = &goPackage{running: map[string]bool{}}
		g.packages[e.Package] = p
	}
	switch {
	case e.Test == "" && (e.Action == "pass" || e.Action == "skip"):
		delete(g.packages, e.Package)
	case e.Test == "" && e.Action == "fail":
		g.closePackage(e.Package, p)
	case e.Test == "":
	case !g.files.hasTest(e.Package, e.Test):
		p.failed = p.failed || e.Action == "fail"
	case e.Action == "run":
		p.running[e.Test] = true
	case e.Action == "pass":
		g.tally.addPassed(e.Package + "." + e.Test)
		delete(p.running, e.Test)
	case e.Action == "skip":
		g.tally.addSkipped(e.Package + "." + e.Test)
		delete(p.running, e.Test)
	case e.Action == "fail":
		g.tally.addFailed(e.Package + "." + e.Test)
		p.failed = true
		delete(p.running, e.Test)
	}
}

// closePackage closes a package that failed or did not end. Its running tests count as failed; without a failed test
// the package itself counts as a failed test.
func (g *goTest) closePackage(name string, p *goPackage) {
	for _, test := range slices.Sorted(maps.Keys(p.running)) {
		g.tally.addFailed(name + "." + test)
		p.failed = true
	}
	if !p.failed {
		g.tally.addFailed(name)
	}
	delete(g.packages, name)
}

func (g *goTest) results() (results, error) {
	for _, name := range slices.Sorted(maps.Keys(g.packages)) {
		g.closePackage(name, g.packages[name])
	}
	return g.tally, nil
}
