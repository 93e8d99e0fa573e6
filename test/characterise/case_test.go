package characterise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
)

const (
	commandTimeout = 60 * time.Second
	slowCommand    = 3 * time.Second // logged, so that cases stay fast
	// maxFile is the size in bytes up to which a record holds the content of a file. Journals are recorded whole.
	maxFile = 12 << 10
)

// prelude defines functions that command lines may use in addition to the shell's own commands.
const prelude = `
# await FILE TEXT waits until the file contains the text.
await() {
	n=0
	until grep -qF -- "$2" "$1" 2>/dev/null; do
		n=$((n+1)); if [ $n -gt 400 ]; then echo "await: no $2 in $1" >&2; return 1; fi
		sleep 0.05
	done
}
# signalled SIGNAL FILE TEXT COMMAND... runs the command, and sends it the signal soon after the file contains the text.
signalled() {
	signal=$1 file=$2 text=$3; shift 3
	"$@" & child=$!
	await "$file" "$text"; sleep 0.5; kill -s "$signal" $child; wait $child
}
question() { ls .claude/pipeline-runs/"$1"/questions | grep '^q-.*json$' | sed 's/[.]json$//' | tail -n "${2:-1}" | head -n 1; }
`

// A player runs the command lines of one case and writes its record.
type player struct {
	dir, project string
	env          []string
	initial      map[string][]byte // initial files, by their path below dir
	norm         *normaliser
	record       bytes.Buffer
}

// playCase runs a case and returns its record. The comment of the txtar file holds one shell command a line. A line
// `env NAME=VALUE` applies to the lines below it, and `sorted COMMAND` sorts lines of output whose order is not
// defined.
func playCase(t *testing.T, root, name, file string) []byte {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, name)
	p := &player{dir: dir, project: filepath.Join(dir, "project"), initial: map[string][]byte{}, norm: newNormaliser(root, dir)}
	for _, sub := range []string{"project", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range archive.Files {
		path := filepath.Join("project", filepath.FromSlash(f.Name))
		p.initial[path] = f.Data
		if err := writeFile(filepath.Join(dir, path), f.Data); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{
		"PATH=" + filepath.Join(root, "bin") + ":/usr/bin:/bin", "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"),
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "home/config"), "XDG_STATE_HOME=" + filepath.Join(dir, "home/state"),
		"XDG_CACHE_HOME=" + filepath.Join(root, cacheDir), "XDG_DATA_HOME=" + filepath.Join(dir, "home/data"),
		"TZ=UTC", "LANG=C.UTF-8", "TERM=dumb",
	}
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fmt.Fprintf(&p.record, "$ %s\n", line)
		if assignment, ok := strings.CutPrefix(line, "env "); ok {
			p.env = append(p.env, os.Expand(assignment, p.variable))
			continue
		}
		command, sorted := strings.CutPrefix(line, "sorted ")
		start := time.Now()
		if err := p.run(command, sorted); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if took := time.Since(start); took > slowCommand {
			t.Logf("slow: %.1fs %s", took.Seconds(), line)
		}
	}
	if err := p.recordTree(); err != nil {
		t.Fatal(err)
	}
	return p.record.Bytes()
}

// variable returns the value of a variable in an env line: the project's directory for PROJECT, else the value in the
// environment of the commands, "" if it is not set.
func (p *player) variable(name string) string {
	if name == "PROJECT" {
		return p.project
	}
	for _, assignment := range slices.Backward(p.env) {
		if value, ok := strings.CutPrefix(assignment, name+"="); ok {
			return value
		}
	}
	return ""
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if bytes.HasPrefix(data, []byte("#!")) {
		mode = 0o755
	}
	return os.WriteFile(path, data, mode)
}

// run executes one shell command and records its exit code and output.
func (p *player) run(command string, sorted bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", prelude+command)
	cmd.Dir, cmd.Env = p.project, p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return fmt.Errorf("run: %w\n%s%s", errors.Join(err, ctx.Err()), stdout.Bytes(), stderr.Bytes())
	}
	fmt.Fprintf(&p.record, "exit %d\n", cmd.ProcessState.ExitCode())
	for _, stream := range []struct {
		name string
		text *bytes.Buffer
	}{{"stdout", &stdout}, {"stderr", &stderr}} {
		if text := p.norm.output(stream.text.String(), sorted); text != "" {
			fmt.Fprintf(&p.record, "[%s]\n%s", stream.name, endLine(text))
		}
	}
	p.record.WriteByte('\n')
	return nil
}

// ofEverySession are the directories with the user's key and the signed heads of journals, which every session has.
var ofEverySession = []string{"home/state/agent-pipelines/keys", "home/state/agent-pipelines/heads"}

// recordTree records each file that the commands have created, changed or removed. A content of more than 80 bytes that
// occurred before is replaced by the path of its first file.
func (p *player) recordTree() error {
	p.record.WriteString("== files\n")
	if err := p.norm.learnDigests(p.project); err != nil {
		return err
	}
	first := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(p.dir, path)
		if err != nil {
			return err
		}
		if relative == "tmp" || slices.Contains(ofEverySession, filepath.ToSlash(relative)) {
			return fs.SkipDir
		}
		if entry.IsDir() || entry.Name() == "head.json" { // the copy of a head
			return nil
		}
		shown := p.norm.path(relative)
		if !entry.Type().IsRegular() {
			fmt.Fprintf(&p.record, "-- %s (%s)\n", shown, entry.Type())
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		before, existed := p.initial[relative]
		delete(p.initial, relative)
		if existed && bytes.Equal(before, data) {
			return nil
		}
		fmt.Fprintf(&p.record, "-- %s\n", shown)
		journal := strings.HasSuffix(path, "events.jsonl")
		switch text := p.norm.file(path, string(data)); {
		case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
			p.record.WriteString("(binary)\n")
		case len(data) > maxFile && !journal:
			p.record.WriteString("(large)\n")
		case len(text) > 80 && first[text] != "":
			fmt.Fprintf(&p.record, "(as %s)\n", first[text])
		default:
			first[text] = shown
			p.record.WriteString(endLine(text))
		}
		return nil
	})
	for _, relative := range slices.Sorted(maps.Keys(p.initial)) {
		fmt.Fprintf(&p.record, "-- %s (removed)\n", p.norm.path(relative))
	}
	return err
}

func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "(no newline)\n"
}
