package soak

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/test/e2ereal"
	"github.com/dodo-digital/agent-pipelines/test/soak/sample"
)

// duration is the duration of the soak test. The default is for daily runs; make soak takes an hour.
var duration = flag.Duration("soak.time", 10*time.Second, "how long TestSoak runs sessions")

// TestSoak runs sessions in one process for a long time, and other sessions with the command, which it kills at
// random. It fails if events are lost, if processes or files are left, or if a figure grows (U047, U072, D2).
func TestSoak(t *testing.T) {
	programs := build(t)
	end := time.Now().Add(*duration)
	killed := make(chan toll, 1)
	go func() { killed <- kills(t, programs, end) }()
	samples := embed(t, programs, end)
	k := <-killed
	t.Logf("command: %s", k)
	sessions, events := 0, 0
	for _, s := range samples {
		sessions, events = sessions+s.Sessions, events+s.Events
	}
	t.Logf("embedding: %d rounds, %d sessions, %d events", len(samples), sessions, events)
	rows, err := sample.Judge(samples)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Log(r)
		if r.Grown() {
			t.Errorf("%s grows", r.Name)
		}
	}
	if k.sessions == 0 || k.kills == 0 {
		t.Error("nothing was killed")
	}
}

// build builds the command, the mock plugin and the embedding program, and returns their directory.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := e2ereal.BuildPrograms(dir, map[string]string{
		"agent-pipelines": "./cmd/agent-pipelines", "embedder": "./test/soak/embedder", "plugins/agent-plugin-mock": "./plugins/mock",
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// home holds the directories of a project and the environment of its programs.
type home struct {
	programs, project, temp string
	env                     []string
}

func newHome(t *testing.T, programs string) home {
	t.Helper()
	base := t.TempDir()
	temp, err := os.MkdirTemp("", "soak-") //nolint:usetesting // short, for the names of sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	h := home{programs: programs, project: filepath.Join(base, "project"), temp: temp}
	h.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + base, "TMPDIR=" + temp, "LANG=C.UTF-8", "TERM=dumb",
		"AGENT_PIPELINES_PLUGIN_DIR=" + filepath.Join(programs, "plugins"), "AGENT_PIPELINES_EVENT_FLUSH_MS=20", "MOCK_CONFIG=mock.json",
	}
	err = errors.Join(os.MkdirAll(h.project, 0o755), os.WriteFile(filepath.Join(h.project, "mock.json"), []byte(`{"delay_ms": 5}`), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// embed runs the embedding program until the time end, and returns its samples.
func embed(t *testing.T, programs string, end time.Time) []sample.Sample {
	t.Helper()
	h := newHome(t, programs)
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "embedder"))
	cmd.Dir, cmd.Env, cmd.Stderr = h.project, h.env, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	samples, err := read(t, stdout, stdin, end)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Error(err)
	}
	return samples
}

// read reads the samples. It ends the program when the time end has passed and there are enough samples. A line a
// minute shows the progress.
func read(t *testing.T, from io.Reader, stdin io.Closer, end time.Time) ([]sample.Sample, error) {
	t.Helper()
	const least = 12
	var all []sample.Sample
	minute, printed := time.Now(), 0
	scan := bufio.NewScanner(from)
	for scan.Scan() {
		var s sample.Sample
		if err := json.Unmarshal(scan.Bytes(), &s); err != nil {
			return all, err
		}
		all = append(all, s)
		if time.Since(minute) >= time.Minute {
			sessions := 0
			for _, s := range all[printed:] {
				sessions += s.Sessions
			}
			t.Logf("%d sessions in the last minute: heap %d KB, RSS %d KB, %d goroutines, %d descriptors, %d children, %d temporary files",
				sessions, s.HeapKB, s.RSSKB, s.Goroutines, s.Descriptors, s.Children, s.Temps)
			minute, printed = time.Now(), len(all)
		}
		if !time.Now().Before(end) && len(all) >= least {
			_ = stdin.Close()
		}
	}
	return slices.Clip(all), scan.Err()
}
