package cliagent

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFindVersion(t *testing.T) {
	tests := map[string]string{
		"2.1.329 (Claude Code)\n":   "2.1.329",
		"codex-cli 0.169.0-alpha.1": "0.169.0-alpha.1",
		"tool v1.2":                 "1.2",
		"no version here":           "",
		"":                          "",
	}
	for line, want := range tests {
		if got := findVersion(line); got != want {
			t.Errorf("findVersion(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestVersionsRunsOncePerFile(t *testing.T) {
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent")
	install := func(version string) {
		script := "#!/bin/sh\necho x >>\"" + dir + "/log\"\necho agent " + version + "\n"
		check(t, os.WriteFile(agent+".new", []byte(script), 0o755))
		check(t, os.Rename(agent+".new", agent))
	}
	var versions Versions
	c := Command{Name: "agent", Path: agent, Dir: dir, Env: Environ(os.Environ(), nil)}
	for _, want := range []string{"1.0.0", "1.0.0", "1.10.0", "1.10.0"} {
		if versions.Version(t.Context(), c) != want {
			install(want)
		}
		if got := versions.Version(t.Context(), c); got != want {
			t.Errorf("version = %q, want %q", got, want)
		}
	}
	log := must(os.ReadFile(filepath.Join(dir, "log")))
	if asked := strings.Count(string(log), "\n"); asked != 2 {
		t.Errorf("the agent was asked %d times, want once for each version", asked)
	}
}

// A call for the version of a slow agent does not delay a call for another agent.
func TestVersionsDoNotWaitForEachOther(t *testing.T) {
	dir := t.TempDir()
	agent := func(name, script string) Command {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		return Command{Name: name, Path: path, Dir: dir, Env: Environ(os.Environ(), nil)}
	}
	pipe := func(name string) *os.File {
		path := filepath.Join(dir, name)
		check(t, syscall.Mkfifo(path, 0o600))
		f := must(os.OpenFile(path, os.O_RDWR, 0)) // read and write: opening does not wait for another process
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	asked, release := pipe("asked"), pipe("release")
	slow, quick := agent("slow", "echo >asked; read line <release; echo slow 1.0.0"), agent("quick", "echo quick 2.0.0")

	var versions Versions
	answer := make(chan string, 1)
	go func() { answer <- versions.Version(t.Context(), slow) }()
	if _, err := asked.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got := versions.Version(t.Context(), quick); got != "2.0.0" {
		t.Errorf("version of the quick one = %q", got)
	}
	if _, err := release.WriteString("now\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != "1.0.0" {
		t.Errorf("version of the slow one = %q: it was made to wait until its time was over", got)
	}
}

func TestVersionsWithoutAnswer(t *testing.T) {
	var versions Versions
	c := shell("")
	for name, path := range map[string]string{"does not know the flag": "/bin/sh", "is missing": "/nowhere/agent"} {
		c.Path = path
		if got := versions.Version(t.Context(), c); got != "" {
			t.Errorf("an agent that %s has version %q", name, got)
		}
	}
}

func TestOlder(t *testing.T) {
	for _, tt := range []struct {
		version, than string
		want          bool
	}{
		{"2.1.328", "2.1.329", true},
		{"2.1.329", "2.1.329", false},
		{"2.1.330", "2.1.329", false},
		{"2.0.999", "2.1.329", true},
		{"10.0", "9.9.9", false},
		{"0.169", "0.169.0", false},
		{"0.168", "0.168.1", true},
		{"0.169.0-alpha.1", "0.169.0", true},
		{"0.169.0", "0.169.0-alpha.1", false},
		{"0.169.0+build", "0.169.0", false},
		{"", "1.0", false},
		{"1.0", "", false},
		{"nightly", "1.0", false},
	} {
		if got := IsOlder(tt.version, tt.than); got != tt.want {
			t.Errorf("%q before %q: %t", tt.version, tt.than, got)
		}
	}
}

// Of two versions at most one is older, and none is older than itself.
func FuzzOlder(f *testing.F) {
	f.Add("2.1.329", "2.1.330-alpha.1+x")
	f.Add("99999999999999999999.1", "v1")
	f.Fuzz(func(t *testing.T, a, b string) {
		if IsOlder(a, b) && IsOlder(b, a) || IsOlder(a, a) {
			t.Errorf("%q and %q are older than each other", a, b)
		}
	})
}
