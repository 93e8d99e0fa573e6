package sandboxpolicy_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// read reads the value of sandbox in a document.
func read(text string) (*plan.Sandbox, yamldoc.Diagnostics) {
	var found yamldoc.Diagnostics
	d := yamldoc.Document{File: "p.yaml", Diagnostics: &found}
	root, ok := d.Parse([]byte(text))
	if !ok || root.Get("sandbox") == nil {
		return nil, found
	}
	return sandboxpolicy.Read(d, root.Get("sandbox")), found
}

// U266: sandbox is a mode or a map.
func TestRead(t *testing.T) {
	for text, want := range map[string]*plan.Sandbox{
		"sandbox: strict":                       {Mode: plan.SandboxStrict},
		"sandbox: ~":                            nil,
		"sandbox: {}":                           {},
		"sandbox: {network: off}":               {Network: plan.NetworkOff},
		"sandbox: {network: false}":             {Network: plan.NetworkOff},
		"sandbox: {mode: none}":                 {Mode: plan.SandboxNone},
		"sandbox: {network: on}":                {Network: plan.NetworkOn},
		"sandbox: {network: loopback, cpu: 60}": {Network: plan.NetworkLoopback, CPU: 60},
		"sandbox: {read: ~/x, write: [a, /b]}":  {Read: []string{"~/x"}, Write: []string{"a", "/b"}},
		"sandbox: {read: [], processes: 64}":    {Read: []string{}, Processes: 64},
		"sandbox: {memory: 2G}":                 {Memory: 2 << 30},
		"sandbox: {memory: 1073741824}":         {Memory: 1 << 30},
	} {
		t.Run(text, func(t *testing.T) {
			got, found := read(text)
			if len(found) > 0 {
				t.Fatal(found)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestReadFindsFaults(t *testing.T) {
	for text, want := range map[string]string{
		"sandbox: tight":                `p.yaml:1:10: error[AP-YAML-104]: unknown sandbox "tight" (available: none, strict, workspace)`,
		"sandbox: [strict]":             `p.yaml:1:10: error[AP-YAML-101]: sandbox must be none, workspace, strict or a map, not a list`,
		"sandbox: {moed: strict}":       `p.yaml:1:11: error[AP-YAML-301]: unknown key "moed" in sandbox (did you mean "mode"? available: cpu, max_violations, memory, mode, network, processes, read, write)`,
		"sandbox: {tight: ~}":           `p.yaml:1:11: error[AP-YAML-301]: unknown key "tight" in sandbox (available: cpu, max_violations, memory, mode, network, processes, read, write)`,
		"sandbox: {mode: none, cpu: 1}": `p.yaml:1:10: error[AP-YAML-107]: mode none contradicts the other keys of sandbox (leave out mode, or the other keys)`,
		"sandbox: {network: maybe}":     `p.yaml:1:20: error[AP-YAML-104]: unknown network "maybe" (available: loopback, off, on)`,
		"sandbox: {network: 3}":         `p.yaml:1:20: error[AP-YAML-104]: unknown network "3" (available: loopback, off, on)`,
		"sandbox: {mode: ''}":           "p.yaml:1:17: error[AP-YAML-104]: mode is empty (write its value, or remove the key)",
		`sandbox: {mode: "\n"}`:         `p.yaml:1:17: error[AP-YAML-104]: unknown mode "\n" (available: none, strict, workspace)`,
		`sandbox: {mode: "strict\n"}`:   `p.yaml:1:17: error[AP-YAML-104]: unknown mode "strict\n" (did you mean "strict"? available: none, strict, workspace)`,
		"sandbox: {network: ''}":        "p.yaml:1:20: error[AP-YAML-104]: network is empty (write its value, or remove the key)",
		"sandbox: {memory: ''}":         "p.yaml:1:19: error[AP-YAML-104]: memory is empty (write its value, or remove the key)",
		"sandbox: {read: ''}":           "p.yaml:1:17: error[AP-YAML-104]: read is empty (write its value, or remove the key)",
		"sandbox: {read: [3]}":          `p.yaml:1:18: error[AP-YAML-101]: a path in read must be text, not a number`,
		"sandbox: {write: ['']}":        `p.yaml:1:19: error[AP-YAML-104]: "" in write is not a path`,
		"sandbox: {memory: little}":     `p.yaml:1:19: error[AP-YAML-103]: memory: "little" is not a size (write bytes, or a size such as 512M or 2G)`,
		"sandbox: {memory: 1M}":         `p.yaml:1:19: error[AP-YAML-103]: memory: "1M" is less than 16M, and no program runs with less (write bytes, or a size such as 512M or 2G)`,
		"sandbox: {memory: [1]}":        `p.yaml:1:19: error[AP-YAML-101]: memory must be a size such as 2G, not a list`,
		"sandbox: {processes: 0}":       "p.yaml:1:22: error[AP-YAML-103]: processes must be at least 1, not 0",
		"sandbox: {processes: 1.5}":     "p.yaml:1:22: error[AP-YAML-103]: processes must be a whole number up to 1000000000, not 1.5",
		"sandbox: {cpu: much}":          `p.yaml:1:16: error[AP-YAML-101]: cpu must be a number, not text`,
		"sandbox: {processes: -4}":      "p.yaml:1:22: error[AP-YAML-103]: processes must be at least 1, not -4",
		"sandbox: {memory: 9999999T}":   `p.yaml:1:19: error[AP-YAML-103]: memory: "9999999T" is more than any machine has (write bytes, or a size such as 512M or 2G)`,
	} {
		t.Run(text, func(t *testing.T) {
			if _, found := read(text); found.Error() != want {
				t.Errorf("got  %s\nwant %s", found.Error(), want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"sandbox: strict", "sandbox: {mode: workspace, network: off, read: [a], memory: 2G, cpu: 1e3}", "sandbox: {processes: .inf}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, found := read(text)
		if s == nil || found.HasErrors() {
			return
		}
		b, err := json.Marshal(s)
		var again plan.Sandbox
		if err != nil || json.Unmarshal(b, &again) != nil {
			t.Fatalf("%+v is not JSON: %v", s, err)
		}
		if s.Memory < 0 || s.Processes < 0 || s.CPU < 0 {
			t.Errorf("%q has a negative limit: %+v", text, s)
		}
	})
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"16777216": 16 << 20, "512M": 512 << 20, "512MiB": 512 << 20, "2G": 2 << 30, "1.5g": 3 << 29, "20000K": 20000 << 10,
	} {
		if got, err := sandboxpolicy.ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1G", "1X", "1GG", "nan", "inf", "1 0G", "15M", "2000T"} {
		if got, err := sandboxpolicy.ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// FuzzBytes reads any text as a size. The size is never negative and never above the limit, and its number of bytes
// reads as the same size.
func FuzzBytes(f *testing.F) {
	for _, seed := range []string{"512M", "2G", "16m", "1.5KiB", "0", "-1", "1e3", "0x10", "1024T", "1025T", " 7B ", "NaN", "+Inf", "K", "", "1_000", "-0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := sandboxpolicy.Bytes(text)
		if err != nil {
			if n != 0 {
				t.Errorf("%q is %d beside %v", text, n, err)
			}
			return
		}
		if n < 0 || n > 1<<50 {
			t.Fatalf("%q is %d bytes", text, n)
		}
		if again, err := sandboxpolicy.Bytes(strconv.FormatInt(n, 10)); err != nil || again != n {
			t.Errorf("%q is %d, which is %d, %v", text, n, again, err)
		}
		if size, err := sandboxpolicy.ParseSize(text); err == nil && (size != n || size < sandboxpolicy.MinSize) || err != nil && n >= sandboxpolicy.MinSize && n < math.MaxInt64 {
			t.Errorf("%q: %d bytes are %d of memory, %v", text, n, size, err)
		}
	})
}

// testResolver returns a resolver for a project and a home with a few directories and a link.
func testResolver(t *testing.T) (sandboxpolicy.Resolver, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"project/a", "home/.agent", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "home/link")); err != nil {
		t.Fatal(err)
	}
	return sandboxpolicy.Resolver{
		Project: filepath.Join(dir, "project"), Home: filepath.Join(dir, "home"),
		Variable: func(name string) string {
			return map[string]string{"DIR": filepath.Join(dir, "elsewhere"), "RELATIVE": "x"}[name]
		},
	}, dir
}

// A link in a directory that agents write grants nothing outside of it: an agent may have made the link.
func TestGrantsThroughLinks(t *testing.T) {
	p, dir := testResolver(t)
	for _, at := range []string{"project/out", "home/.agent/out", "alias"} {
		to := filepath.Join(dir, "elsewhere")
		if at == "alias" {
			to = filepath.Join(dir, "project")
		}
		if err := os.Symlink(to, filepath.Join(dir, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "project/in")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		grant    string
		writable []string
		refused  bool
	}{
		{"out", nil, true},
		{"in", nil, false},
		{dir + "/alias/out", nil, true},
		{"~/.agent/out", nil, false},
		{"~/.agent/out", []string{"~/.agent"}, true},
		{"~/.agent/out", []string{"~/.agent", "~/.agent/out"}, true},
		{"~/link", []string{"~/.agent"}, false},
	} {
		_, err := p.ResolveGrants("read", []string{tt.grant}, tt.writable)
		if refused := err != nil && strings.Contains(err.Error(), "an agent may have made it"); refused != tt.refused {
			t.Errorf("%s beside %v: %v, want refused: %v", tt.grant, tt.writable, err, tt.refused)
		}
	}
}

func TestGrants(t *testing.T) {
	p, dir := testResolver(t)
	got, err := p.ResolveGrants("read", []string{"a", "./a", "~/.agent", "~", "~/link", "/usr"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{dir + "/project/a", dir + "/project/a", filepath.Join(dir, "home", ".agent"), dir + "/home", dir + "/elsewhere", "/usr"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := p.ResolveGrants("write", []string{"missing"}, nil); err == nil || !strings.Contains(err.Error(), "sandbox grants write of "+dir+"/project/missing: it does not exist") {
		t.Errorf("a path that is missing: %v", err)
	}
	p.Home = ""
	if _, err := p.ResolveGrants("read", []string{"~/x"}, nil); err == nil || !strings.Contains(err.Error(), "the home directory is unknown") {
		t.Errorf("no home: %v", err)
	}
}

// Missing paths of a component are skipped. A variable must hold an absolute path.
func TestNeeds(t *testing.T) {
	p, dir := testResolver(t)
	got := p.ResolveNeeds([]string{"~/.agent", "~/missing", "${DIR}", "${DIR}/missing", "${RELATIVE}", "${NONE}/x", "a", "/usr"})
	if diff := cmp.Diff([]string{filepath.Join(dir, "home", ".agent"), dir + "/elsewhere", "/usr"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
