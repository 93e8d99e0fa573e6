//go:build e2ereal

package e2ereal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// TestRealSandbox lets the real CLIs follow a model inside a sandbox (U266). Files that they write in the project
// exist, and the system refuses access outside it, although the CLIs permit everything. Without a sandbox the same
// access succeeds.
func TestRealSandbox(t *testing.T) {
	product := builtProduct(t)
	for _, a := range []agent{claude, codex} {
		for _, mode := range []string{"none", "workspace", "strict"} {
			t.Run(a.cli.Name+"/"+mode, func(t *testing.T) { playSandbox(t, product, a, mode) })
		}
	}
}

func playSandbox(t *testing.T, product string, a agent, mode string) {
	w := newWorld(t)
	outside, config := filepath.Join(w.root, "outside"), filepath.Join(w.home, "claude")
	for _, dir := range []string{outside, config} {
		check(t, os.Mkdir(dir, 0o755))
	}
	check(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("treasure\n"), 0o644))
	run := shell
	if a == codex {
		run = execCommand
	}
	reads := map[string]string{"none": "treasure", "workspace": "Permission denied", "strict": "No such file"}[mode]
	work := turns(task(run, "", "Do what is to be done", "echo inside > in.txt; echo out > "+outside+"/out.txt; cat "+outside+"/secret", reads, "I tried."))
	work.Captures = map[string]string{"result": captures["result"]}
	s := scenario{name: "sandbox", agent: a, want: completed, script: work}
	s.lay(t, w)
	d := &realDriver{stub: stubmodel.Start(t), scripts: map[string]stubmodel.Script{}}
	env := d.environment(t, w, s)
	for i, entry := range env {
		if strings.HasPrefix(entry, "IS_SANDBOX=") { // in a sandbox the provider sets this variable itself
			env[i] = "CLAUDE_CONFIG_DIR=" + config
			if mode == "none" {
				env = append(env, entry)
			}
		}
	}
	args := s.arguments()
	if mode != "none" {
		args = append(args, "--sandbox", mode, "--sandbox-read", filepath.Dir(cli(t, a.cli)))
	}
	got := w.run(t, command{path: product, args: args, env: env, limit: productLimit})
	s.assertEnd(t, w, got)
	w.assertNoProcess(t)
	w.assertFile(t, "in.txt", "inside\n")
	_, err := os.Stat(filepath.Join(outside, "out.txt"))
	if written := err == nil; written != (mode == "none") {
		t.Errorf("written outside: %v", written)
	}
	d.finish(t, w, s)
	if t.Failed() {
		t.Logf("exit code %d, stdout:\n%s\nstderr:\n%s", got.code, got.stdout, got.stderr)
	}
}
