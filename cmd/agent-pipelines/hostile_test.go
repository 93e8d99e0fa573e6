package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

var hostileTable = flag.String("hostile.table", "", "run each attack in each mode, as root and as another user, and write the table of results to this `file`")

const (
	hostileScripts = "testdata/hostile"
	// otherUser is the variable of tests that run as another user: the directory of their programs.
	otherUser   = "AGENT_PIPELINES_TEST_OTHER_USER"
	resultsFile = "results.json"
)

var hostileModes = []string{"none", "workspace", "strict"}

// TestHostile runs testdata/hostile: attacks on the command, each with what must happen instead. A copy of testdata/liar
// with attack=<attack> at its end is the attacker.
//
// A script has the configuration of its sandbox mode, $MODE, which its line "# mode: <mode>" names, and the conditions
// [none], [workspace], [strict] and [root]. With -hostile.table it runs in each mode, and as another user, too.
func TestHostile(t *testing.T) {
	t.Parallel()
	all := readScenarios(t)
	results := &board{all: all, cells: map[string]string{}, current: map[string]int{}}
	files := map[string][]string{}
	for _, s := range all {
		files[s.mode] = append(files[s.mode], s.file)
	}
	for _, mode := range hostileModes {
		if *hostileTable == "" {
			if files[mode] != nil {
				testscript.Run(t, results.params(mode, slices.Compact(files[mode])))
			}
			continue
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			params := results.params(mode, nil)
			params.Dir = hostileScripts
			testscript.Run(t, params)
		})
	}
	if *hostileTable != "" {
		t.Cleanup(func() { results.finish(t, all) }) // after the scripts, which are parallel
	}
}

// finish writes the results: as another user for the tests that started this run, otherwise as a table.
func (b *board) finish(t *testing.T, all []scenario) {
	dir, rest := os.Getenv(otherUser), ""
	switch {
	case dir != "":
		check(t, os.WriteFile(filepath.Join(dir, resultsFile), must(json.Marshal(b.cells)), 0o600))
		return
	case os.Geteuid() != 0:
		rest = "As root nothing was run: these tests were started by an ordinary user.\n"
	default:
		if err := b.runAsOther(); err != nil {
			t.Error(err)
		}
	}
	check(t, os.WriteFile(*hostileTable, []byte(b.table(all)+rest), 0o644))
}

// scenario is an attack of a script.
type scenario struct {
	script, file, mode string // the mode is that of a run without -hostile.table
	group              int    // number of the lines of scenarios that follow each other, from 1
	name               string
	outcomes           []string // where=outcome, the last that fits counts
}

// outcome returns held, found or open: how the attack ends in a mode, as root or user. It is "-" where the attack does
// not apply.
func (s scenario) outcome(mode, user string) string {
	var result string
	for _, o := range s.outcomes {
		where, outcome, some := strings.Cut(o, "=")
		if !some {
			where, outcome = "", o
		}
		if slices.Contains([]string{"", mode, user, mode + "/" + user}, where) {
			result = outcome
		}
	}
	return result
}

var (
	scenarioLine = regexp.MustCompile(`^(?:\[[^\]]*\] )*scenario (.*)$`)
	scenarioWord = regexp.MustCompile(`'[^']*'|\S+`)
	modeLine     = regexp.MustCompile(`(?m)^# mode: (none|workspace|strict)$`)
)

// readScenarios returns the scenarios of all hostile scripts, in their order.
func readScenarios(t *testing.T) []scenario {
	var all []scenario
	for _, file := range must(filepath.Glob(filepath.Join(hostileScripts, "*.txtar"))) {
		text := string(must(txtar.ParseFile(file)).Comment)
		mode := modeLine.FindStringSubmatch(text)
		require(t, mode != nil, file+" needs a line `# mode: none`, workspace or strict")
		group, follows := 0, false
		for line := range strings.Lines(text) {
			found := scenarioLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if found != nil && !follows {
				group++
			}
			if follows = found != nil; !follows {
				continue
			}
			words := scenarioWord.FindAllString(found[1], -1)
			for _, name := range words[1:] {
				all = append(all, scenario{
					script: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: file, mode: mode[1], group: group,
					name: strings.Trim(name, "'"), outcomes: strings.Split(words[0], ","),
				})
			}
		}
		require(t, group > 0, file+" needs lines `scenario held|found|open <name>...`")
	}
	names := map[string]bool{}
	for _, s := range all {
		require(t, !names[s.script+s.name], "two scenarios have one name", s.script, s.name)
		names[s.script+s.name] = true
		for _, mode := range hostileModes {
			for _, user := range []string{"root", "user"} {
				require(t, slices.Contains([]string{"held", "found", "open", "-"}, s.outcome(mode, user)), s, "has no outcome in", mode, user)
			}
		}
	}
	return all
}

// board has the results of scenarios. It is safe for concurrent use.
type board struct {
	all     []scenario
	mu      sync.Mutex
	cells   map[string]string // by script, scenario, mode and user
	current map[string]int    // the group whose lines are being run, by script and mode
}

func userKind() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return "user"
}

func cell(script, name, mode, user string) string {
	return strings.Join([]string{script, name, mode, user}, "\t")
}

// params returns the parameters for scripts in a mode.
func (b *board) params(mode string, files []string) testscript.Params {
	params := scripts("")
	params.Files = files
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("MODE", mode)
		script := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
		env.Defer(func() {
			b.next(script, mode, env.T().(interface{ Failed() bool }).Failed(), 0)
		})
		return errors.Join(setUp(env), configure(env.Getenv("HOME"), "sandbox", confined(mode)))
	}
	params.Condition = func(condition string) (bool, error) {
		switch {
		case slices.Contains(hostileModes, condition):
			return condition == mode, nil
		case condition == "root":
			return os.Geteuid() == 0, nil
		}
		return false, fmt.Errorf("unknown condition %q", condition)
	}
	// scenario <outcome> <name>...: the lines that follow, up to the next ones, are these attacks, and check how they end.
	params.Cmds["scenario"] = func(ts *testscript.TestScript, neg bool, args []string) {
		i := slices.IndexFunc(b.all, func(s scenario) bool {
			return s.script == ts.Name() && slices.Contains(args[min(1, len(args)):], s.name)
		})
		if neg || i < 0 {
			ts.Fatalf("usage: scenario held|found|open[,<mode>|<user>|<mode>/<user>=<outcome>...] <name>...")
		}
		b.next(ts.Name(), mode, false, b.all[i].group)
	}
	// outcomes <file>: the file has a line "<outcome> <name>" for each of the current scenarios, and no other.
	params.Cmds["outcomes"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: outcomes <file>")
		}
		var want []string
		for _, s := range b.group(ts.Name(), mode) {
			want = append(want, s.outcome(mode, userKind())+" "+s.name)
		}
		got := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n")
		slices.Sort(want)
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			ts.Fatalf("outcomes (-of the scenarios +in %s):\n%s", args[0], diff)
		}
	}
	// grant <path>...: what the sandbox of the mode may write besides.
	params.Cmds["grant"] = func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(configure(ts.Getenv("HOME"), "sandbox", confined(mode, args...)))
	}
	return params
}

// group returns the current scenarios of a script.
func (b *board) group(script, mode string) (group []scenario) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.all {
		if s.script == script && s.group == b.current[script+mode] {
			group = append(group, s)
		}
	}
	return group
}

// next ends the current scenarios of a script, unless group is theirs, and begins those of group; 0 is none.
func (b *board) next(script, mode string, failed bool, group int) {
	ended := b.group(script, mode)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current[script+mode] == group {
		return
	}
	for _, s := range ended {
		outcome := s.outcome(mode, userKind())
		if failed {
			outcome = "FAILED"
		}
		b.cells[cell(script, s.name, mode, userKind())] = outcome
	}
	b.current[script+mode] = group
}

// confined returns the value of the key sandbox for a mode.
func confined(mode string, write ...string) string {
	if mode == "none" {
		return mode
	}
	return fmt.Sprintf("{mode: %s, write: [%s]}", mode, strings.Join(write, ", "))
}

// configure sets a key of the user's config.yaml, whose value is one line.
func configure(home, key, value string) error {
	file := filepath.Join(home, ".config", "agent-pipelines", "config.yaml")
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool { return strings.HasPrefix(line, key+":") })
	lines = append(lines, key+": "+value+"\n")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600)
}

// otherScript copies the programs $1 and what scripts use of the package $4 to the package $2, and runs the tests $3 there.
const otherScript = `set -e
cp -RL "$1/bin" "$1/agents" "$1/cache" .
mkdir -p "$2/testdata" home gocache docs
cp "$3" hostile.test
cp -R "$4/../../docs/schema" docs
cp -R "$4/testdata/hostile" "$2/testdata"
cp -R "$4/gallery" "$4/library" "$2"
chown -R 65534:65534 .
cd "$2"
exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all ../../hostile.test "$5" "$6" "$7" "$8"`

// runAsOther runs this test again as another user, with copies of what it needs, and adds the results.
func (b *board) runAsOther() error {
	dir, err := os.MkdirTemp("", "ap-other-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	work := filepath.Join(dir, "cmd", "agent-pipelines") // scripts also use paths relative to the package
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", otherScript, "sh", programs, work, self, cwd,
		"-test.run="+cmp.Or(flagValue("test.run"), "^TestHostile$"), "-test.timeout="+flagValue("test.timeout"), "-hostile.table=none", "-test.parallel="+flagValue("test.parallel"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), otherUser+"="+dir, "HOME="+filepath.Join(dir, "home"), "GOCACHE="+filepath.Join(dir, "gocache"), "TMPDIR="+dir, "GOTMPDIR=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("the attacks as another user: %w\n%s", err, out)
	}
	text, failed := os.ReadFile(filepath.Join(dir, resultsFile))
	if failed == nil {
		failed = json.Unmarshal(text, &b.cells)
	}
	return errors.Join(err, failed)
}

// table returns the results: a line for each scenario, a column for each mode and user.
func (b *board) table(all []scenario) string {
	var out strings.Builder
	count := map[string]int{}
	fmt.Fprintf(&out, "%-12s  %-60s", "script", "scenario")
	each := func(do func(mode, user string)) {
		for _, mode := range hostileModes {
			do(mode, "root")
			do(mode, "user")
		}
	}
	each(func(mode, user string) { fmt.Fprintf(&out, "  %-14s", mode+"/"+user) })
	for _, s := range all {
		fmt.Fprintf(&out, "\n%-12s  %-60s", s.script, s.name)
		each(func(mode, user string) {
			result := cmp.Or(b.cells[cell(s.script, s.name, mode, user)], "not run")
			if s.outcome(mode, user) == "-" {
				result = "-"
			}
			count[result]++
			fmt.Fprintf(&out, "  %-14s", result)
		})
	}
	fmt.Fprintf(&out, "\n\n%d scenarios:", len(all))
	for _, result := range []string{"held", "found", "open", "-", "FAILED", "not run"} {
		if count[result] > 0 {
			fmt.Fprintf(&out, " %d %s,", count[result], strings.Replace(result, "-", "do not apply", 1))
		}
	}
	text := strings.TrimSuffix(out.String(), ",") + "\n"
	if count["not run"] > 0 {
		text += "A scenario is not run if its script failed before it, or skips this machine; the output of the script says why.\n"
	}
	return text
}

// TestThreatModel compares the tables of docs/threat-model.md with the scenarios: a row whose last column names scripts
// says in its columns of modes how their attacks end. -update rewrites these columns.
func TestThreatModel(t *testing.T) {
	const file = "../../docs/threat-model.md"
	all := readScenarios(t)
	text := string(must(os.ReadFile(file)))
	lines, named := strings.Split(text, "\n"), 0
	for i, line := range lines {
		columns := strings.Split(line, "|")
		if len(columns) != 7 {
			continue
		}
		var row []scenario
		for _, s := range all {
			if strings.Contains(columns[5], "`hostile/"+s.script+".txtar`") {
				row = append(row, s)
			}
		}
		if len(row) == 0 {
			continue
		}
		named += len(row)
		for j, mode := range hostileModes {
			columns[2+j] = " " + rowOutcome(row, mode) + " "
		}
		lines[i] = strings.Join(columns, "|")
	}
	want := strings.Join(lines, "\n")
	if *update {
		check(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	compare(t, want, text)
	compare(t, len(all), named) // each script is in one row
}

// rowOutcome returns how attacks end in a mode: for an ordinary user, and for root if that differs.
func rowOutcome(row []scenario, mode string) string {
	outcome := func(user string) string {
		count := map[string]int{}
		for _, s := range row {
			count[s.outcome(mode, user)]++
		}
		delete(count, "-")
		var parts []string
		for _, outcome := range []string{"held", "found", "open"} {
			switch n := count[outcome]; {
			case n > 0 && len(count) == 1:
				return outcome
			case n > 0:
				parts = append(parts, fmt.Sprint(n, " ", outcome))
			}
		}
		return strings.Join(parts, ", ")
	}
	user, root := outcome("user"), outcome("root")
	if user == root {
		return user
	}
	return user + "; as root " + root
}
