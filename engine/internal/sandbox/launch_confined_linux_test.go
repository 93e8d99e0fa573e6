package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/launch"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// limit is far longer than any operation of these tests takes, so that only a hang exceeds it.
const limit = 20 * time.Second

// modes are the two modes that confine a process, for tests of their common properties.
var modes = []sandboxpolicy.Mode{sandboxpolicy.Workspace, sandboxpolicy.Strict}

// A process that leaves its group and clears its environment survives without a sandbox, but not under strict.
func TestStrictLeavesNoProcess(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		path := hostile(t)
		stop := func(i *launch.Instance) { i.Stop(context.Background()) }
		for name, end := range map[string]func(*launch.Instance){
			"none": stop, "strict": stop, "strict, killed": (*launch.Instance).Kill,
		} {
			t.Run(name, func(t *testing.T) {
				tg := newTargets(t)
				lock := filepath.Join(tg.Workspace, "lock")
				policy := tg.policy(sandboxpolicy.Strict, sandboxpolicy.On)
				if name == "none" {
					policy = nil
				}
				i := newHost(t).must(path, policy, tg.Workspace)
				pid := mustAsk(t, i, "linger "+lock)
				if !locked(t, lock) {
					t.Fatalf("process %q holds no lock", pid)
				}
				end(i)
				if policy == nil {
					left, err := strconv.Atoi(pid)
					if err != nil || !locked(t, lock) {
						t.Fatalf("process %q is gone: the test shows nothing", pid)
					}
					_ = syscall.Kill(left, syscall.SIGKILL)
				}
				eventually(t, "the process is gone", func() bool { return !locked(t, lock) })
			})
		}
	})
}

// hostVariable makes the test program a host, see beHost; its value is the working directory. modeVariable holds the
// mode of the host's sandbox.
const (
	hostVariable = "LAUNCH_TEST_HOST"
	modeVariable = "LAUNCH_TEST_MODE"
)

// beHost starts a plugin in a sandbox. The plugin holds one lock and starts a process that holds another lock. Then
// beHost waits to be killed.
func beHost(dir string) int {
	spawner := process.NewSpawner()
	l := launch.New(launch.Config{
		Spawner: spawner, Marker: process.NewMarker(dir), Logger: hclog.NewNullLogger(), PluginLogger: hclog.NewNullLogger(),
		Redactor: redact.New(nil), SocketBases: []string{"/tmp"}, Sandbox: sandbox.New([]string{"/proc/self/exe", confine.Verb}),
	})
	b, err := catalog.NewVerifier(catalog.NewCache("")).Open(os.Getenv(hostileVariable))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	policy := &sandboxpolicy.Policy{Mode: sandboxpolicy.Mode(os.Getenv(modeVariable)), Network: sandboxpolicy.Off, Write: []string{dir}}
	i, err := l.Start(context.Background(), launch.StartRequest{Binary: b, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir, Policy: policy})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, prompt := range []string{"hold " + filepath.Join(dir, "held"), "linger " + filepath.Join(dir, "lock")} {
		p := i.Client().Provider(sdk.Component{Kind: sdk.KindProvider, Name: "hostile"})
		r, err := p.Execute(context.Background(), sdk.ExecuteRequest{Key: "k", Prompt: prompt}, quiet{})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("done", r.Output)
	}
	time.Sleep(time.Hour)
	return 1
}

// A killed host ends the plugin in each sandbox, and in a strict sandbox also all processes that the plugin started.
func TestKilledHostLeavesNoSandbox(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		for _, mode := range modes {
			t.Run(string(mode), func(t *testing.T) {
				dir := newTargets(t).Workspace
				c := exec.Command(os.Args[0])
				c.Env = append(os.Environ(), hostVariable+"="+dir, modeVariable+"="+string(mode), hostileVariable+"="+hostile(t))
				out, err := c.StdoutPipe()
				if err == nil {
					err = c.Start()
				}
				testkit.OK(t, err)
				var answers [2]string
				lines := bufio.NewReader(out)
				for i := range answers {
					if answers[i], err = lines.ReadString('\n'); err != nil || !strings.HasPrefix(answers[i], "done") {
						t.Fatalf("the host says %q (%v)", answers[i], err)
					}
				}
				if !locked(t, filepath.Join(dir, "held")) || !locked(t, filepath.Join(dir, "lock")) {
					t.Fatal("the locks are free: the test shows nothing")
				}
				_ = c.Process.Kill()
				_ = c.Wait()
				eventually(t, "the plugin is gone", func() bool { return !locked(t, filepath.Join(dir, "held")) })
				if mode == sandboxpolicy.Strict {
					eventually(t, "its children end", func() bool { return !locked(t, filepath.Join(dir, "lock")) })
					return
				}
				left := testkit.Must(strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(answers[1], "done "))))
				_ = syscall.Kill(left, syscall.SIGKILL)
			})
		}
	})
}

func locked(t *testing.T, path string) bool {
	t.Helper()
	f := testkit.Must(os.OpenFile(path, os.O_RDWR, 0))
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

func eventually(t *testing.T, condition string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Errorf("never: %s", condition)
}

func TestLimits(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		path := hostile(t)
		for _, mode := range modes {
			t.Run(string(mode), func(t *testing.T) {
				tg := newTargets(t)
				h := newHost(t)
				policy := tg.policy(mode, sandboxpolicy.Off)
				policy.Processes, policy.Memory, policy.CPU = 100, 512<<20, 500*time.Millisecond
				if os.Getuid() == 0 { // the kernel exempts root from that limit
					if _, err := h.start(path, policy, tg.Workspace); failure.KindOf(err) != failure.SandboxUnavailable {
						t.Errorf("a limit of root's processes: %v", err)
					}
					policy.Processes = 0
				}
				i := h.must(path, policy, tg.Workspace)
				o := i.Sandbox()
				if o.Processes != policy.Processes || o.Memory != 512<<20 || o.CPUSeconds != 1 {
					t.Errorf("obtained %+v", o)
				}
				// The number is not exact, because other processes of an ordinary user start and end meanwhile.
				if n, err := strconv.Atoi(mustAsk(t, i, "fork 400")); policy.Processes > 0 && (err != nil || n < 20 || n > 200) {
					t.Errorf("%d children ran at the same time (%v), want not many more than 100 less the plugin's own threads", n, err)
				}
				if out := mustAsk(t, i, "eat "+strconv.Itoa(1<<30)); strings.Contains(out, "eaten") {
					t.Error("a child got 1 GiB of memory")
				}
				if out := mustAsk(t, i, "eat "+strconv.Itoa(16<<20)); !strings.Contains(out, "eaten") {
					t.Errorf("a child did not get 16 MiB of memory: %s", out)
				}
				if out := mustAsk(t, i, "spin"); !strings.Contains(out, "signal: ") {
					t.Errorf("a child that computes without end ended with %q", out)
				}
			})
		}
		tg := newTargets(t)
		free := newHost(t).must(path, nil, tg.Workspace)
		testkit.Equal(t, "400", mustAsk(t, free, "fork 400"))
		if out := mustAsk(t, free, "eat "+strconv.Itoa(1<<30)); !strings.Contains(out, "eaten") {
			t.Errorf("no memory without a sandbox: the test shows nothing: %s", out)
		}
	})
}

// The tools of agents and their commands run in a sandbox, with limits that suffice.
func TestToolsInSandbox(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		path := hostile(t)
		for _, mode := range modes {
			for _, network := range []sandboxpolicy.Network{sandboxpolicy.Off, sandboxpolicy.On} {
				t.Run(string(mode)+" "+string(network), func(t *testing.T) {
					tg := newTargets(t)
					policy := tg.policy(mode, network)
					policy.Memory = 4 << 30
					if os.Getuid() != 0 {
						policy.Processes = 200
					}
					goroot := goRoot(t)
					policy.Read = append(policy.Read, goroot)
					writeFile(t, filepath.Join(tg.home, ".npmrc")) // unreadable in the sandbox
					gitconfig := "[user]\n\tname = a\n\temail = a@example.com\n"
					testkit.OK(t, os.WriteFile(filepath.Join(tg.home, ".gitconfig"), []byte(gitconfig), 0o600))
					i := newHost(t).must(path, policy, tg.Workspace)
					for _, line := range []string{
						`bash -c 'for i in 1 2 3; do echo $i; done | sort -r | head -1; [[ $(pwd) == ` + tg.Workspace + ` ]]'`,
						`python3 -c 'import subprocess, threading, tempfile, json; t = threading.Thread(target=print); t.start(); t.join(); subprocess.run(["true"], check=True); tempfile.TemporaryFile()'`,
						`HOME=` + tg.home + ` git init -q g && cd g && echo x > f && HOME=` + tg.home + ` git -c user.name=a -c user.email=a@example.com add f && HOME=` + tg.home + ` git -c user.name=a -c user.email=a@example.com commit -qm x && git log --oneline`,
						`node -e 'require("child_process").execSync("true"); require("fs").writeFileSync("n", "x"); new (require("worker_threads").Worker)("", {eval: true})'`,
						`HOME=$TMPDIR npm --version`,
						goroot + `/bin/go version`,
						`test "$AGENT_PIPELINES_SANDBOX" = ` + string(mode) + ` && test -d "$TMPDIR" && test "$TMPDIR" != /tmp`,
					} {
						if out, err := ask(t, i, "sh "+line); err != nil {
							t.Errorf("%s: %v\n%s", line, err, out)
						}
					}
				})
			}
		}
	})
}

func goRoot(t *testing.T) string {
	t.Helper()
	out := testkit.Must(exec.Command("go", "env", "GOROOT").Output())
	return strings.TrimSpace(string(out))
}

// The processes of a sandbox reach each other on its own loopback interface.
func TestLoopback(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		tg := newTargets(t)
		i := newHost(t).must(hostile(t), tg.policy(sandboxpolicy.Strict, sandboxpolicy.Loopback), tg.Workspace)
		out, err := ask(t, i, `sh python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname())'`)
		if err != nil {
			t.Errorf("%v %s", err, out)
		}
	})
}

// A script finds its interpreter and the files in its directory, and the programs that it starts are confined as well.
func TestScriptInSandbox(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		for _, mode := range modes {
			t.Run(string(mode), func(t *testing.T) {
				dir := openDir(t)
				copyFile(t, hostile(t), filepath.Join(dir, "the-real-one"))
				script := filepath.Join(dir, catalog.Prefix+"script")
				testkit.OK(t, os.WriteFile(script, []byte("#!/usr/bin/env bash\nexec \"$(dirname \"$0\")/the-real-one\"\n"), 0o755))
				tg := newTargets(t)
				may := []string{"may:"}
				if mode == sandboxpolicy.Workspace {
					may = append(may, "mode:")
				}
				judge(t, probe(t, newHost(t).must(script, tg.policy(mode, sandboxpolicy.Off), tg.Workspace), tg), may...)
			})
		}
	})
}

// The verified file runs, whatever its path names by then.
func TestVerifiedFileRunsInSandbox(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			path := filepath.Join(openDir(t), catalog.Prefix+"hostile")
			copyFile(t, hostile(t), path)
			b := testkit.Must(catalog.NewVerifier(catalog.NewCache("")).Open(path))
			defer b.Close()
			other := path + ".new"
			testkit.OK(t, os.WriteFile(other, []byte("#!/bin/sh\necho replaced\n"), 0o755))
			testkit.OK(t, os.Rename(other, path))
			tg := newTargets(t)
			h := newHost(t)
			i := testkit.Must(h.launcher.Start(t.Context(), launch.StartRequest{Binary: b, Env: []string{"PATH=/usr/bin:/bin"}, Dir: tg.Workspace, Policy: tg.policy(mode, sandboxpolicy.Off)}))
			defer i.Stop(context.Background())
			testkit.Equal(t, "me\n", mustAsk(t, i, "sh echo me"))
		})
	}
}

// Faults of starting in a sandbox reach the user with their cause.
func TestStartFaultsInSandbox(t *testing.T) {
	text := filepath.Join(t.TempDir(), catalog.Prefix+"text")
	testkit.OK(t, os.WriteFile(text, []byte("just some text, and a little more\n"), 0o755))
	interpreter := filepath.Join(t.TempDir(), catalog.Prefix+"interpreter")
	testkit.OK(t, os.WriteFile(interpreter, []byte("#!/no/such/interpreter\n"), 0o755))
	dies := filepath.Join(t.TempDir(), catalog.Prefix+"dies")
	testkit.OK(t, os.WriteFile(dies, []byte("#!/bin/sh\necho my last words >&2\nexit 4\n"), 0o755))
	for _, mode := range modes {
		for _, tt := range []struct {
			name, path, want string
			kind             failure.Kind
			change           func(*host, *sandboxpolicy.Policy)
		}{
			{"no program", text, "is not a program for", failure.PluginInvalid, nil},
			{"no interpreter", interpreter, "or the interpreter it names does not exist", failure.ProviderMissing, nil},
			{"dies", dies, "ended before the handshake (exit status 4)", failure.ProviderCrashed, nil},
			{
				"no helper", dies, "this program has no helper", failure.SandboxUnavailable,
				func(h *host, _ *sandboxpolicy.Policy) { h.confine(sandbox.New(nil)) },
			},
			{
				"another helper", dies, "did not run the probe in the sandbox", failure.SandboxUnavailable,
				func(h *host, _ *sandboxpolicy.Policy) { h.confine(sandbox.New([]string{"/bin/true"})) },
			},
			{
				"too little memory", dies, "", failure.ProviderCrashed,
				func(_ *host, b *sandboxpolicy.Policy) { b.Memory = 4096 },
			},
		} {
			t.Run(string(mode)+" "+tt.name, func(t *testing.T) {
				h := newHost(t)
				dir := t.TempDir()
				policy := &sandboxpolicy.Policy{Mode: mode, Network: sandboxpolicy.Off, WorkDir: dir}
				if tt.change != nil {
					tt.change(h, policy)
				}
				_, err := h.start(tt.path, policy, dir)
				f := failure.From(err)
				if f == nil || f.Kind != tt.kind || !strings.Contains(f.Message, tt.want) || f.Hint == "" {
					t.Errorf("failure %+v, want kind %s with a hint", f, tt.kind)
				}
			})
		}
	}
}

// Git's configuration and hooks, .claude and their directories cannot be changed or moved in a sandbox, except a path below
// .claude that is granted. An agent commits. A directory that is made in .git gets the owner of .git.
func TestSandboxProtectsGit(t *testing.T) {
	for _, mode := range []sandboxpolicy.Mode{sandboxpolicy.Workspace, sandboxpolicy.Strict} {
		for _, tools := range []sandboxpolicy.Network{"", sandboxpolicy.Off} {
			t.Run(string(mode)+" "+string(tools), func(t *testing.T) { asUsers(t, func(t *testing.T) { protectsGit(t, mode, tools) }) })
		}
	}
}

func protectsGit(t *testing.T, mode sandboxpolicy.Mode, tools sandboxpolicy.Network) {
	t.Helper()
	tg := newTargets(t)
	attempt := filepath.Join(tg.Workspace, ".claude/pipeline-runs/s/attempt")
	testkit.OK(t, os.MkdirAll(attempt, 0o755))
	testkit.Must(exec.Command("git", "init", "-q", tg.Workspace).Output())
	dir := filepath.Join(tg.Workspace, ".git")
	owner := os.Getuid()
	if owner == 0 {
		owner = 12345
		testkit.OK(t, os.Chown(dir, owner, owner))
	}
	policy := tg.policy(mode, sandboxpolicy.On)
	policy.Tools = tools
	policy.Write = append(policy.Write, attempt)
	i := newHost(t).must(hostile(t), policy, tg.Workspace)
	for _, line := range []string{
		"git -c safe.directory='*' -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m x",
		"echo >.claude/pipeline-runs/s/attempt/result.json",
	} {
		if out, err := ask(t, i, "sh "+line); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	for _, line := range []string{
		"echo >>.git/config", "echo >.git/config.worktree", "echo >.git/hooks/post-commit", "echo >.git/info/attributes", "mkdir .git/worktrees/x",
		"mkdir .git/modules/x", "mv .git .old", "mv .git/hooks .old", "mv .claude .old", "echo >.claude/pipeline-runs/s/state.json",
		"chmod 777 .git/hooks", "echo >/proc/1/root$PWD/.git/config",
		"umount .git/config && echo >.git/config", "unshare --user --map-root-user --mount sh -c 'umount .git/config && echo >.git/config'",
	} {
		if out, err := ask(t, i, "sh "+line); err == nil {
			t.Errorf("%s: succeeded, want a refusal\n%s", line, out)
		}
	}
	for _, name := range []string{"config.worktree", "worktrees", "modules"} {
		info := testkit.Must(os.Stat(filepath.Join(dir, name)))
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != owner {
			t.Errorf("%s does not belong to uid %d", name, owner)
		}
	}
}
