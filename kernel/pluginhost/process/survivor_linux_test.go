package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// deadKernel is the marker of a process that has ended.
func deadKernel(t *testing.T, run string) Marker {
	t.Helper()
	c := exec.Command("true")
	check(t, c.Run())
	return Marker{Run: run, PID: c.Process.Pid, Start: 1}
}

// startSurvivor starts a process with the marker in a session of its own.
func startSurvivor(t *testing.T, m Marker, script string) int {
	t.Helper()
	c := exec.Command("sh", "-c", script)
	c.Env = append(os.Environ(), MarkerVariable+"="+m.String())
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out := must(c.StdoutPipe())
	check(t, c.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	})
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatalf("wait for the survivor: %v", err)
	}
	// During an exec the system has neither environment nor command of the process.
	for _, becomes, _ := strings.Cut(script, "exec "); !strings.HasPrefix(command(c.Process.Pid), becomes) && t.Context().Err() == nil; {
		time.Sleep(time.Millisecond)
	}
	return c.Process.Pid
}

func TestSweep(t *testing.T) {
	base := fmt.Sprintf("%s-%d/", t.Name(), os.Getpid())
	dead := deadKernel(t, base+"auth/r1")
	polite := startSurvivor(t, dead, "echo up; exec sleep 3600")
	stubborn := startSurvivor(t, dead, "trap '' TERM; echo up; while :; do sleep 0.05; done")
	candidate := startSurvivor(t, deadKernel(t, base+"other/r1"), "echo up; exec sleep 3600")
	living := startSurvivor(t, NewMarker(base+"auth/r2"), "echo up; exec sleep 3600")

	got := must(new(Table).Sweep(t.Context(), []string{base + "auth/"}, 100*time.Millisecond))
	var ended []int
	for _, s := range got {
		require(t, s.Run == dead.Run && s.Ended, s, dead.Run)
		ended = append(ended, s.PID)
	}
	for _, pid := range []int{polite, stubborn} {
		require(t, slices.Contains(ended, pid), ended, pid)
		assertGone(t, pid)
	}
	for _, pid := range []int{candidate, living} {
		require(t, !slices.Contains(ended, pid) && !isZombie(pid), pid)
	}
	again, err := new(Table).Sweep(t.Context(), []string{base + "auth/"}, time.Second)
	diff := cmp.Diff([]Survivor(nil), again, cmpopts.EquateEmpty())
	require(t, diff == "" && err == nil, err, diff)
}

func TestSweepNamesTheCommand(t *testing.T) {
	run := fmt.Sprintf("%s-%d/", t.Name(), os.Getpid())
	_ = startSurvivor(t, deadKernel(t, run), "echo up; exec sleep 3601")
	got, err := new(Table).Sweep(t.Context(), []string{run}, time.Second)
	require(t, err == nil && len(got) == 1 && strings.Contains(got[0].Command, "sleep 3601"), got, err)
}

func TestSweepStopsWhenCancelled(t *testing.T) {
	run := fmt.Sprintf("%s-%d/", t.Name(), os.Getpid())
	_ = startSurvivor(t, deadKernel(t, run), "trap '' TERM; echo up; while :; do sleep 0.05; done")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := new(Table).Sweep(ctx, []string{run}, time.Hour)
	require(t, err != nil, "Sweep with a cancelled context reports no error")
}

func TestSweepExcludesItself(t *testing.T) {
	up := ancestorPIDs()
	require(t, up[os.Getpid()] && up[os.Getppid()], up)
}

func TestKernelLives(t *testing.T) {
	here := NewMarker("r")
	tests := []struct {
		name string
		m    Marker
		want bool
	}{
		{"this process", here, true},
		{"start time unknown", Marker{PID: here.PID}, true},
		{"another process with the number", Marker{PID: here.PID, Start: here.Start + 1}, false},
		{"ended", deadKernel(t, "r"), false},
	}
	for _, tt := range tests {
		compare(t, tt.want, isKernelAlive(tt.m))
	}
}

// TestSweepFindsTaggedProcess checks that a sweep finds a process that has cleared its environment, left its session
// and lost its parent.
func TestSweepFindsTaggedProcess(t *testing.T) {
	kernel := deadKernel(t, fmt.Sprintf("%s-%d/", t.Name(), os.Getpid()))
	candidate := Marker{Run: kernel.Run, PID: kernel.PID, Start: kernel.Start + 1}
	pid := startBare(t, newTag(kernel, 7))
	foreign := startBare(t, newTag(candidate, 7))
	for name, kernels := range map[string][]Marker{"none is known": nil, "this one lives": {NewMarker(kernel.Run)}} {
		if got, err := new(Table).Sweep(t.Context(), []string{kernel.Run}, 0, kernels...); len(got) > 0 || err != nil {
			t.Errorf("%s: Sweep = %+v, %v", name, got, err)
		}
	}
	got, err := new(Table).Sweep(t.Context(), []string{kernel.Run}, time.Second, kernel)
	want := []Survivor{{PID: pid, Command: "sleep 3600", Run: kernel.Run, Ended: true}}
	compare(t, want, got)
	compare(t, nil, err)
	require(t, !isZombie(foreign), "the process of another kernel was ended")
}

// startBare starts a process without an environment that has inherited a tag.
func startBare(t *testing.T, s tag) int {
	t.Helper()
	c := exec.Command("sh", "-c", "read line; exec env -i setsid sleep 3600")
	in := must(c.StdinPipe())
	check(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	setTag(c.Process.Pid, s)
	must(in.Write([]byte("go\n")))
	for command(c.Process.Pid) != "sleep 3600" && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	return c.Process.Pid
}

// TestSweepEndsHoppers checks that a sweep ends a process that lives shortly and starts its successor in a session of
// its own before it ends (U047).
func TestSweepEndsHoppers(t *testing.T) {
	dir := t.TempDir()
	path, stop := filepath.Join(dir, "hop"), filepath.Join(dir, "stop")
	writeProgram(t, path, "#!/bin/sh\nsleep 0.03\n[ -e "+stop+" ] || setsid "+path+" &\n")
	t.Cleanup(func() { check(t, os.WriteFile(stop, nil, 0o600)) })
	for i := range 10 {
		kernel := deadKernel(t, fmt.Sprintf("%s-%d-%d/", t.Name(), os.Getpid(), i))
		c := exec.Command("sh", "-c", "read line; exec env -i "+path)
		in := must(c.StdinPipe())
		check(t, c.Start())
		setTag(c.Process.Pid, newTag(kernel, 7))
		must(in.Write([]byte("go\n")))
		check(t, c.Wait())
		must(new(Table).Sweep(t.Context(), []string{kernel.Run}, 0, kernel))
		time.Sleep(50 * time.Millisecond) // a hopper that was missed has a successor now
		left := slices.DeleteFunc(readMarks(), func(s markedPID) bool { return !s.tag.sameRun(newTag(kernel, 0)) })
		require(t, len(left) == 0, i, left)
	}
}

func TestTag(t *testing.T) {
	m := NewMarker("r")
	s := newTag(m, 1<<26+3)
	for name, tt := range map[string]struct {
		candidate  tag
		valid, run bool
	}{
		"the same":                     {s, true, true},
		"another process of the run":   {newTag(m, 4), true, true},
		"another kernel":               {newTag(Marker{Run: m.Run, PID: m.PID, Start: m.Start + 1}, 3), true, false},
		"another run":                  {newTag(NewMarker("s"), 3), true, false},
		"no limit":                     {^tag(0), false, false},
		"a limit that the user set":    {4096, false, false},
		"none at all, as one's own is": {0, false, false},
	} {
		got := tt.candidate.valid()
		require(t, got == tt.valid, name, got)
		got = tt.candidate.sameRun(s)
		require(t, got == tt.run, name, got)
	}
	require(t, !tag(0).sameRun(0) && s != newTag(m, 4), "a tag of 0, or of another process, equals the tag")
}

func TestEscapedGrandchildIsEnded(t *testing.T) {
	restore := must(AdoptOrphans())
	defer restore()
	// A process is tagged after its start: its earlier children are known only by their environment.
	const tagged = "until grep -q '^Max file locks *[0-9]' /proc/$$/limits; do sleep 0.01; done; "
	for name, line := range map[string]string{
		"a session of its own":    "setsid sh -c \"$GRANDCHILD\" &",
		"... without environment": tagged + "setsid -f env -i sh -c \"$GRANDCHILD\"",
	} {
		t.Run(name, func(t *testing.T) {
			var leaked []Survivor // set before the child counts as ended
			marker := filepath.Join(t.TempDir(), "said")
			line = "GRANDCHILD='echo $$; : >" + marker + "; exec sleep 3600'\n" + line + "\nuntil [ -e " + marker + " ]; do sleep 0.01; done; exit 0"
			c := start(t, line, func(s *Spec) { s.OnLeak = func(left []Survivor) { leaked = left } })
			child := firstPID(t, c)
			await(t, c)
			assertGone(t, child)
			require(t, len(leaked) == 1 && leaked[0].PID == child && leaked[0].Ended, leaked, child)
		})
	}
}

func TestVerifiedFileRuns(t *testing.T) {
	echo := must(exec.LookPath("echo"))
	binary := must(os.Open(echo))
	defer binary.Close()
	replaced := filepath.Join(t.TempDir(), "agent-plugin-x")
	writeProgram(t, replaced, "#!/bin/sh\necho replaced\n")
	spawner := NewSpawner()
	defer spawner.Close()
	c := New(spawner, Spec{Path: replaced, Binary: binary, Marker: NewMarker(t.Name())})
	check(t, c.Start(t.Context()))
	go func() { _, _ = io.Copy(io.Discard, c.Stdout()) }()
	await(t, c)
	compare(t, "", c.FirstLine())
}

func TestStartWhileTheFileIsBeingWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent-plugin-x")
	sh := must(os.ReadFile("/bin/sh"))
	writer := must(os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700))
	defer writer.Close()
	must(writer.Write(sh))
	spawner := NewSpawner()
	defer spawner.Close()
	c := New(spawner, Spec{Path: path, Marker: NewMarker(t.Name())})
	err := c.Start(t.Context())
	require(t, errors.Is(err, syscall.ETXTBSY), err)
}

// An orphan of a plugin in another session is reaped when it ends; a child of the host's own group is not.
func TestEndedOrphansAreReaped(t *testing.T) {
	restore := must(AdoptOrphans())
	defer restore()
	parent := exec.Command("/bin/sh", "-c", "setsid true & setsid true & exit 0") // its children are adopted when it exits
	parent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	own := exec.Command("/bin/true")
	check(t, parent.Run())
	check(t, own.Start())
	seen := map[int]string{}
	for deadline := time.Now().Add(10 * time.Second); len(seen) < 2; seen = zombies() {
		require(t, !time.Now().After(deadline), len(seen))
		time.Sleep(time.Millisecond)
	}
	compare(t, len(seen), len(reapZombies(nil)))
	reapZombies(seen)
	left := zombies()
	require(t, len(left) == 0, left)
	check(t, own.Wait())
}
