package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/launch"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// hostileVariable holds the path of the hostile plugin for the tests that run again as an ordinary user.
const hostileVariable = "LAUNCH_TEST_HOSTILE"

// otherUser is the id of an ordinary user, which is neither root nor the user of the tests.
const otherUser = 65534

// asUsers runs the test as the current user and, if that is root, again as an ordinary user, because the restrictions
// of these users differ.
func asUsers(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Getuid() != 0 {
		if os.Getenv(hostileVariable) == "" {
			t.Logf("shown for uid %d only: the tests do not run as root", os.Getuid())
		}
		test(t)
		return
	}
	t.Run("root", test)
	t.Run("ordinary user", func(t *testing.T) {
		dir := openDir(t)
		again := filepath.Join(dir, "launch.test")
		copyFile(t, "/proc/self/exe", again)
		name, _, _ := strings.Cut(t.Name(), "/")
		c := exec.Command(again, "-test.run", "^"+name+"$", "-test.v", "-test.timeout=5m")
		if testing.CoverMode() != "" { // coverage needs a writable directory
			counts := openDir(t)
			testkit.OK(t, os.Chown(counts, otherUser, otherUser))
			c.Args = append(c.Args, "-test.gocoverdir="+counts)
		}
		c.Dir = dir
		c.Env = append(os.Environ(), hostileVariable+"="+hostile(t), "HOME="+dir)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("as uid %d: %v\n%s", otherUser, err, out)
		}
		t.Logf("as uid %d:\n%s", otherUser, out)
	})
}

// openDir returns a temporary directory that other users can enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sandbox-test-") //nolint:usetesting // others cannot enter t.TempDir's parents
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	testkit.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	testkit.OK(t, err)
}

// hostile returns the path of the plugin's binary.
func hostile(t testing.TB) string {
	t.Helper()
	if given := os.Getenv(hostileVariable); given != "" {
		return given
	}
	return testkit.Must(buildHostile())
}

var buildHostile = sync.OnceValues(func() (string, error) {
	var err error
	if built, err = os.MkdirTemp("/tmp", "sandbox-test-"); err != nil {
		return "", err
	}
	path := filepath.Join(built, catalog.Prefix+"hostile")
	build := exec.Command("go", "build", "-o", path, "./testdata/hostile")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	return path, os.Chmod(built, 0o755)
})

// host starts plugins as the kernel does.
type host struct {
	t        testing.TB
	spawner  *process.Spawner
	launcher *launch.Launcher
}

func newHost(t testing.TB) *host {
	t.Helper()
	h := &host{t: t, spawner: process.NewSpawner()}
	t.Cleanup(h.spawner.Close)
	h.confine(sandbox.New([]string{"/proc/self/exe", confine.Verb}))
	return h
}

// confine makes a launcher whose plugins the confiner confines.
func (h *host) confine(c sandboxpolicy.Confiner) {
	h.launcher = launch.New(launch.Config{
		Spawner: h.spawner, Marker: process.NewMarker(h.t.Name()), Logger: hclog.NewNullLogger(), PluginLogger: hclog.NewNullLogger(), Redactor: redact.New(nil), SocketBases: []string{"/tmp"},
		Sandbox: c,
	})
}

// start starts the plugin at the path; it is stopped at the end of the test.
func (h *host) start(path string, policy *sandboxpolicy.Policy, dir string) (*launch.Instance, error) {
	h.t.Helper()
	b := testkit.Must(catalog.NewVerifier(catalog.NewCache("")).Open(path))
	defer b.Close()
	i, err := h.launcher.Start(h.t.Context(), launch.StartRequest{Binary: b, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent"}, Dir: dir, MTLS: true, Policy: policy})
	if err == nil {
		h.t.Cleanup(func() { i.Stop(context.Background()) })
	}
	return i, err
}

func (h *host) must(path string, policy *sandboxpolicy.Policy, dir string) *launch.Instance {
	h.t.Helper()
	i, err := h.start(path, policy, dir)
	if err != nil {
		h.t.Fatalf("start in %+v: %v", policy, err)
	}
	return i
}

// ask lets the plugin execute a prompt.
func ask(t *testing.T, i *launch.Instance, prompt string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := i.Client().Provider(sdk.Component{Kind: sdk.KindProvider, Name: "hostile"})
	r, err := p.Execute(ctx, sdk.ExecuteRequest{Key: "k", Prompt: prompt}, quiet{})
	return r.Output, err
}

func mustAsk(t *testing.T, i *launch.Instance, prompt string) string {
	t.Helper()
	out, err := ask(t, i, prompt)
	if err != nil {
		t.Fatalf("%s: %v", prompt, err)
	}
	return out
}

// quiet is an exchange that discards all reports and allows every call.
type quiet struct{}

func (quiet) Output(sdk.OutputChunk)       {}
func (quiet) Progress(sdk.Progress)        {}
func (quiet) Observe(sdk.ToolCall)         {}
func (quiet) ObserveResult(sdk.ToolResult) {}
func (quiet) Result(sdk.ToolResult)        {}
func (quiet) Usage(sdk.Usage)              {}
func (quiet) Call(context.Context, sdk.ToolCall) (sdk.Verdict, error) {
	return sdk.Verdict{Action: sdk.VerdictRun}, nil
}
func (quiet) Checkpoint(context.Context, sdk.Checkpoint) error { return nil }

// targets are the probes' targets, see testdata/hostile. The plugin's user may access all of them, so that only the
// sandbox blocks a probe.
type targets struct {
	Workspace, Readable, Outside, HomeFile string
	HostPID                                int
	HostWord                               uintptr
	TCP, TCP6, UDP, Unix, Abstract         string
	Datagram                               string
	home                                   string
}

var hostWord = [8]byte([]byte("hostword"))

func newTargets(t *testing.T) targets {
	t.Helper()
	root := openDir(t)
	tg := targets{
		Workspace: filepath.Join(root, "workspace"), Readable: filepath.Join(root, "readable"), Outside: filepath.Join(root, "outside"),
		HomeFile: filepath.Join(root, "home", "secret"), home: filepath.Join(root, "home"),
		HostPID: os.Getpid(), HostWord: uintptr(unsafe.Pointer(&hostWord)),
	}
	for _, dir := range []string{tg.Workspace, tg.Readable, tg.Outside, tg.home} {
		testkit.OK(t, os.Mkdir(dir, 0o700))
	}
	for _, name := range []string{"secret", "victim", "moved", "removed"} {
		writeFile(t, filepath.Join(tg.Outside, name))
	}
	writeFile(t, tg.HomeFile)
	writeFile(t, filepath.Join(tg.Readable, "granted"))
	if os.Getuid() == 0 { // root works in other users' directories
		testkit.OK(t, os.Chown(tg.Workspace, 12345, 12345))
	}
	// Other processes of the user may trace this process even under Yama, so that only the sandbox prevents a trace.
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	tg.TCP = listen(t, "tcp", "127.0.0.1:0")
	tg.TCP6 = listen(t, "tcp6", "[::1]:0")
	tg.Unix = listen(t, "unix", filepath.Join(tg.Outside, "s"))
	tg.Abstract = listen(t, "unix", fmt.Sprintf("@sandbox-test-%d-%s", os.Getpid(), filepath.Base(root)))
	tg.UDP = receive(t, "udp", "127.0.0.1:0")
	tg.Datagram = receive(t, "unixgram", filepath.Join(tg.Outside, "d"))
	return tg
}

func writeFile(t *testing.T, path string) {
	t.Helper()
	testkit.OK(t, os.WriteFile(path, []byte("private"), 0o600))
}

// listen returns the address of a listener that accepts no connections. Without IPv6 the address is unreachable.
func listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil && network == "tcp6" {
		return "[::1]:1"
	}
	testkit.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// receive returns the address of a socket that sends each datagram back.
func receive(t *testing.T, network, address string) string {
	t.Helper()
	var c net.PacketConn
	var err error
	if network == "unixgram" {
		c, err = net.ListenUnixgram(network, &net.UnixAddr{Name: address, Net: network})
	} else {
		c, err = net.ListenPacket(network, address)
	}
	testkit.OK(t, err)
	var echo sync.WaitGroup
	echo.Go(func() {
		for b := make([]byte, 1); ; {
			_, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(b, from)
		}
	})
	t.Cleanup(func() {
		_ = c.Close()
		echo.Wait()
	})
	return c.LocalAddr().String()
}

func (tg targets) policy(mode sandboxpolicy.Mode, network sandboxpolicy.Network) *sandboxpolicy.Policy {
	return &sandboxpolicy.Policy{Mode: mode, Network: network, Read: []string{tg.Readable}, Write: []string{tg.Workspace}, WorkDir: tg.Workspace, Home: tg.home}
}

// probe returns the error of each probe, "" for a success.
func probe(t *testing.T, i *launch.Instance, tg targets) map[string]string {
	t.Helper()
	prompt := testkit.Must(json.Marshal(tg))
	done := map[string]string{}
	testkit.OK(t, json.Unmarshal([]byte(mustAsk(t, i, "probe "+string(prompt))), &done))
	if len(done) < 40 {
		t.Fatalf("only %d probes were made: %v", len(done), slices.Sorted(maps.Keys(done)))
	}
	return done
}

// judge compares the results of the probes with the expected results: probes with one of the prefixes succeed, all
// others fail.
func judge(t *testing.T, done map[string]string, may ...string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(done)) {
		allowed := slices.ContainsFunc(may, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		switch {
		case allowed && done[name] != "":
			t.Errorf("%s: %s, want a success", name, done[name])
		case !allowed && done[name] == "":
			t.Errorf("%s: succeeded, want a refusal", name)
		}
	}
}
