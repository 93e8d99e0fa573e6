package confine

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Verb {
		os.Exit(Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// findStartError reads the line of a [StartError].
func findStartError(out string) (t StartError, found bool) {
	_, text, found := strings.Cut(out, StartErrorPrefix)
	return t, found && json.NewDecoder(strings.NewReader(text)).Decode(&t) == nil
}

// Main reports errors in its arguments.
func TestMainRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		text string
	}{
		"nothing":    {nil, "there is no specification"},
		"no JSON":    {[]string{"x"}, "read the specification"},
		"no program": {[]string{Spec{Network: On, Exec: "/bin/true"}.String()}, "there is no program"},
	} {
		t.Run(name, func(t *testing.T) {
			c := exec.Command(os.Args[0], append([]string{Verb}, tt.args...)...)
			out, err := c.CombinedOutput()
			got, found := findStartError(string(out))
			if err == nil || c.ProcessState.ExitCode() != ExitStartError || !found || !strings.Contains(got.Text, tt.text) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// Main confines the process before it opens the program: a missing or invalid program is reported with the system's
// reason, and a specification without a program is a probe.
func TestMainConfinesFirst(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Spec{
		Network: Off, Landlock: min(ABI(), MaxABI), Files: true, Seccomp: true, Memory: 8 << 30, CPU: 60, Processes: 1000, Added: true,
		Read: []string{"/proc", dir, filepath.Join(dir, "never was")}, Write: []string{dir}, Devices: []string{os.DevNull},
	}
	if d := os.Getenv("GOCOVERDIR"); d != "" {
		o.Write = append(o.Write, d) // the confined process writes its coverage
	}
	for name, tt := range map[string]struct {
		program string
		errno   syscall.Errno
	}{
		"no such file": {filepath.Join(dir, "gone"), syscall.ENOENT},
		"no program":   {text, syscall.EACCES},
		"a probe":      {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			o.Exec = tt.program
			out, err := exec.Command(os.Args[0], Verb, o.String(), tt.program).CombinedOutput()
			if tt.program == "" {
				if err != nil || string(out) != Probed+"\n" {
					t.Errorf("%v: %s", err, out)
				}
				return
			}
			got, found := findStartError(string(out))
			if err == nil || !found || !got.Exec || got.Errno != tt.errno {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// A tool runs with its arguments and its own name; what cannot be had ends it before it runs.
func TestToolRuns(t *testing.T) {
	run := func(n string) (string, int) {
		name, args := Tool([]string{ToolsVariable + "=" + n}, "/bin/sh", []string{"-c", `echo "$0 $1 $(grep Seccomp: /proc/self/status)"`, "zero", "one"})
		c := exec.Command(name, args...)
		c.Env = os.Environ()
		out, _ := c.CombinedOutput() // the exit code shows the end
		return string(out), c.ProcessState.ExitCode()
	}
	if out, code := run("off"); out != "zero one Seccomp:\t2\n" || code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := run("some"); code != ExitStartError || !strings.Contains(out, `network \"some\" is not known`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// A tool below a sandbox of files links files to another directory, as git and cargo do.
func TestToolMovesFiles(t *testing.T) {
	dir := t.TempDir()
	env := []string{ToolsVariable + "=off", WriteVariable + "=" + dir}
	if d := os.Getenv("GOCOVERDIR"); d != "" {
		env[1] += ":" + d
	}
	_, args := Tool(env, "/bin/sh", []string{"-c", `cd "$0" && mkdir a b && echo x >a/x && ln a/x b/x`, dir})
	_, args = ReadOnlyTool(env, nil, os.Args[0], args)
	c := exec.Command(os.Args[0], args...)
	c.Env = os.Environ()
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// D17: a read-only tool writes what the plugin's environment and its caller list, and nothing else. A file of the project
// cannot be moved or linked to a writable place.
func TestReadOnlyTool(t *testing.T) {
	project, cache, git := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "a"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{ToolsVariable + "=on", WriteVariable + "=" + cache}
	if d := os.Getenv("GOCOVERDIR"); d != "" {
		env[1] += ":" + d
	}
	name, args := ReadOnlyTool(env, []string{git}, "/bin/sh", []string{"-c", `
echo new >"$1/made"; echo new >"$1/a"; mv "$1/a" "$2"; ln "$1/a" "$2/a" && echo new >"$2/a"; rm "$1/a"; mkdir "$1/d"; ln -s x "$1/l"
cat "$1/a"; echo x >/dev/null && echo x >"$2/made" && echo x >"$3/made" && echo done`, "sh", project, cache, git})
	if name != "/proc/self/exe" {
		t.Fatal(name)
	}
	if ABI() < leastFilesABI { // the tool has only the restrictions of every tool
		if o, err := parseSpec(args[1]); err != nil || o.Files {
			t.Errorf("%+v, %v", o, err)
		}
		return
	}
	out, err := exec.Command(os.Args[0], args...).Output()
	if string(out) != "olddone\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	for dir, want := range map[string]int{project: 1, cache: 1, git: 1} {
		if found, err := os.ReadDir(dir); err != nil || len(found) != want {
			t.Errorf("%s: %v, %v", dir, found, err)
		}
	}
	if name, _ := ReadOnlyTool(nil, nil, "/bin/true", nil); name != "/bin/true" {
		t.Errorf("without a sandbox: %s", name)
	}
}
