package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

var helper = []string{"/proc/self/exe", confine.Verb}

// Check refuses a restriction that the system lacks, with a reason and a remedy. A best-effort policy only lists it.
func TestCheck(t *testing.T) {
	old := func(abi int) func(*Sandbox) { return func(s *Sandbox) { s.abi = func() int { return abi } } }
	dir := t.TempDir()
	bwrap := filepath.Join(dir, "bwrap")
	testkit.OK(t, os.WriteFile(bwrap, []byte("#!/bin/sh\necho bubblewrap 9\n"), 0o777))
	testkit.OK(t, os.Chmod(bwrap, 0o777))
	broken := t.TempDir()
	testkit.OK(t, os.Symlink(testkit.Must(exec.LookPath("false")), filepath.Join(broken, "bwrap")))
	// A helper that cannot make namespaces.
	bare := filepath.Join(dir, "bare")
	testkit.OK(t, os.WriteFile(bare, []byte("case $1 in *'\"tools\":true'*|*'\"mounts\":'*) echo no namespace >&2; exit 1;; esac\nexec '"+testkit.Must(os.Executable())+"' "+confine.Verb+" \"$@\"\n"), 0o600))
	without := func(s *Sandbox) { s.helper = []string{"/bin/sh", bare} }
	abi := min(confine.ABI(), confine.MaxABI)
	for name, tt := range map[string]struct {
		policy sandboxpolicy.Policy
		change func(*Sandbox)
		text   string
		hint   string
		want   sandboxpolicy.Capabilities
	}{
		"workspace":                     {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off}, want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Landlock: min(confine.ABI(), confine.MaxABI), Seccomp: true, Guarded: true}},
		"a project":                     {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Write: []string{"/p"}}, want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Landlock: abi, Seccomp: true, Guarded: true}},
		"a project without a guard":     {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Write: []string{"/p"}}, change: without, want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Landlock: abi, Seccomp: true}},
		"no landlock":                   {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On}, change: old(0), text: "needs Landlock with ABI 6, and this kernel has none", hint: "Linux 6.12"},
		"an old landlock":               {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On}, change: old(5), text: "this kernel has ABI 5", hint: "bubblewrap"},
		"no landlock, the best":         {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, BestEffort: true}, change: old(0), want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Seccomp: true, Missing: []string{"files, signals and abstract sockets are not confined: this kernel has none, or it is turned off"}}},
		"an old landlock, the best":     {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, BestEffort: true}, change: old(3), want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Landlock: 3, Seccomp: true, Guarded: true, Missing: []string{"signals and abstract sockets are not confined: Landlock has ABI 3"}}},
		"the oldest landlock":           {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, BestEffort: true}, change: old(1), want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Landlock: 1, Seccomp: true, Guarded: true, Missing: []string{"signals and abstract sockets are not confined: Landlock has ABI 1", "files outside can be truncated: Landlock has ABI 1"}}},
		"loopback needs strict":         {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Loopback}, text: "no network loopback", hint: "sandbox strict"},
		"no helper":                     {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.On}, change: func(s *Sandbox) { s.helper = nil }, text: "has no helper", hint: "WithSandboxHelper"},
		"no helper, the best":           {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, BestEffort: true}, change: func(s *Sandbox) { s.helper = nil }, want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.None, Network: sandboxpolicy.On, Missing: []string{"sandbox workspace: this program has no helper that confines its processes"}}},
		"a helper that is none":         {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off}, change: func(s *Sandbox) { s.helper = []string{"/bin/echo"} }, text: "/bin/echo did not run the probe in the sandbox", hint: confine.Verb},
		"no helper's file":              {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.Off}, change: func(s *Sandbox) { s.helper = []string{"/none"} }, text: "open /none", hint: "installed"},
		"no bubblewrap":                 {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.Off}, change: func(s *Sandbox) { s.systemDirs = []string{"/none"} }, text: "needs bubblewrap, which is not installed", hint: "apt install bubblewrap"},
		"another user's bubblewrap":     {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.Off}, change: func(s *Sandbox) { s.systemDirs = []string{dir} }, text: "cannot trust " + bwrap, hint: "system's packages"},
		"a broken bubblewrap":           {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.Off}, change: func(s *Sandbox) { s.systemDirs = []string{broken} }, text: "--version: exit status 1", hint: "install bubblewrap again"},
		"a mode that there is not":      {policy: sandboxpolicy.Policy{Mode: "x", Network: sandboxpolicy.Off}, text: `sandbox "x" is not known`},
		"strict does without landlock":  {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.Off}, change: old(0), want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Strict, Guarded: true, Network: sandboxpolicy.Off, Seccomp: true, Bubblewrap: version(t)}},
		"tools without network":         {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On, Tools: sandboxpolicy.Off}, want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On, Tools: sandboxpolicy.Loopback, Landlock: abi, Seccomp: true, Guarded: true}},
		"tools with loopback":           {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.On, Tools: sandboxpolicy.Loopback}, want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Strict, Guarded: true, Network: sandboxpolicy.On, Tools: sandboxpolicy.Loopback, Landlock: strictABI(), Seccomp: true, Bubblewrap: version(t)}},
		"tools with the network":        {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On, Tools: sandboxpolicy.On}, change: without, want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On, Tools: sandboxpolicy.On, Landlock: abi, Seccomp: true, Guarded: true}},
		"no namespace for tools":        {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On, Tools: sandboxpolicy.Off}, change: without, want: sandboxpolicy.Capabilities{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On, Tools: sandboxpolicy.Off, Landlock: abi, Seccomp: true, Guarded: true, Missing: []string{"tools have no loopback interface: sandbox workspace is not available: exit status 1"}}},
		"no loopback for tools":         {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On, Tools: sandboxpolicy.Loopback}, change: without, text: "sandbox workspace has no network loopback for tools here", hint: "ask for network off"},
		"no sandbox, whatever of tools": {policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On, Tools: sandboxpolicy.Loopback}, change: old(0), text: "needs Landlock", hint: "Linux 6.12"},
		"strict": {
			policy: sandboxpolicy.Policy{Mode: sandboxpolicy.Strict, Network: sandboxpolicy.Loopback, Memory: 1 << 30, CPU: 1},
			want:   sandboxpolicy.Capabilities{Mode: sandboxpolicy.Strict, Guarded: true, Network: sandboxpolicy.Loopback, Landlock: strictABI(), Seccomp: true, Bubblewrap: version(t), Memory: 1 << 30, CPUSeconds: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(helper)
			if tt.change != nil {
				tt.change(s)
			}
			got, err := s.Check(t.Context(), tt.policy)
			if tt.text == "" {
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("error %v (-want +got):\n%s", err, diff)
				}
				return
			}
			f := failure.From(err)
			if f == nil || !strings.Contains(f.Message, tt.text) || !strings.Contains(f.Hint, tt.hint) || tt.hint != "" && f.Kind != failure.SandboxUnavailable {
				t.Errorf("failure %+v, want one with %q and the hint %q", f, tt.text, tt.hint)
			}
		})
	}
}

// version returns the version of bubblewrap, which these tests need on Linux.
func version(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("/usr/bin/bwrap", "--version").Output()
	if err != nil {
		t.Fatalf("the tests of the strict sandbox need bubblewrap: apt install bubblewrap (%v)", err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "bubblewrap ")
}

func strictABI() int {
	if abi := min(confine.ABI(), confine.MaxABI); abi >= confine.LeastABI {
		return abi
	}
	return 0
}

// A mode with a network is proven only once.
func TestCheckKeepsItsResult(t *testing.T) {
	s := New(helper)
	testkit.Must(s.Check(t.Context(), sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off}))
	s.abi = func() int { return 0 }
	if _, err := s.Check(t.Context(), sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, Memory: 1}); err != nil {
		t.Errorf("asked again: %v", err)
	}
	if _, err := s.Check(t.Context(), sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.On}); err == nil {
		t.Error("another kind was not asked for")
	}
}

// Wrap fails if the context has ended, also for a best-effort policy.
func TestWrapCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, best := range []bool{false, true} {
		if c, err := New(helper).Wrap(ctx, sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, BestEffort: best}, sandboxpolicy.Program{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// The environment describes the program's own sandbox, not an outer one.
func TestEnvironment(t *testing.T) {
	got := environment(sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}, sandboxpolicy.Program{Env: []string{"A=1", "TMPDIR=/tmp", "AGENT_PIPELINES_SANDBOX=workspace", "GOCACHE=/c"}, Temp: "/t"}, map[string]string{"GOCACHE": "/own"})
	testkit.Equal(t, []string{"A=1", "AGENT_PIPELINES_SANDBOX=strict", "GOCACHE=/own", "TMPDIR=/t"}, got)
	outer := []string{"AGENT_PIPELINES_TOOLS_NETWORK=on", "AGENT_PIPELINES_TOOLS_WRITE=/x"}
	project, cache, temp := t.TempDir(), t.TempDir(), t.TempDir()
	for network, want := range map[sandboxpolicy.Network][]string{
		sandboxpolicy.Off: {"AGENT_PIPELINES_SANDBOX=workspace", "AGENT_PIPELINES_TOOLS_NETWORK=off", "AGENT_PIPELINES_TOOLS_WRITE=" + cache + ":" + temp, "TMPDIR=" + temp},
		"":                {"AGENT_PIPELINES_SANDBOX=workspace", "TMPDIR=" + temp},
	} {
		b := sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Tools: network, WorkDir: project, Write: []string{"", "/", project, filepath.Dir(project), cache}}
		got := environment(b, sandboxpolicy.Program{Env: outer, Temp: temp}, nil)
		testkit.Equal(t, want, got)
	}
}

// Without an available sandbox, a best-effort policy starts the program unchanged.
func TestWrapWithoutSandbox(t *testing.T) {
	c, err := New(nil).Wrap(t.Context(), sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, BestEffort: true}, sandboxpolicy.Program{Path: "/bin/true", Args: []string{"x"}, Env: []string{"A=1"}})
	if err != nil || c.Name != "/bin/true" || len(c.Args) != 2 || len(c.Env) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	c.Started()
}

// Each error message of bubblewrap has its remedy.
func TestStartErrorOfBubblewrap(t *testing.T) {
	for says, hint := range map[string]string{
		"bwrap: setting up uid map: Permission denied":                  "user namespaces",
		"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted":  "user namespaces",
		"bwrap: Creating new namespace failed: Operation not permitted": "user namespaces",
		"bwrap: Unknown option --perms":                                 "0.5 or newer",
		"bwrap: Can't find source path /w: No such file or directory":   "no longer exists",
		"bwrap: something else":                                         "by hand",
	} {
		got, found := sandboxpolicy.FindStartError("a line\n" + says + "\n")
		if !found || got.Exec {
			t.Fatalf("%q is not found: %+v", says, got)
		}
		if f := (sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}).StartFailure(got); f.Kind != failure.SandboxUnavailable || !strings.Contains(f.Hint, hint) || !strings.Contains(f.Message, says) {
			t.Errorf("%q: %+v", says, f)
		}
	}
}

// rootsOwn accepts only a file that belongs to root and that no other user can change.
func TestOwnedByRoot(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bwrap")
	if err := rootsOwn(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is none: %v", err)
	}
	testkit.OK(t, os.WriteFile(name, nil, 0o755))
	if os.Getuid() == 0 {
		if err := os.Chown(name, 65534, 65534); err != nil {
			t.Skip(err) // in a user namespace with one user
		}
	}
	testkit.Fails(t, rootsOwn(name), name+" does not belong to root")
}
