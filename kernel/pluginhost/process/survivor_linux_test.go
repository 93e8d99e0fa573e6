package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

func zombie(pid int) bool {
	fields, ok := store.StatFields(pid)
	return ok && fields[stateField] == "Z"
}

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
		if s.Run != dead.Run || !s.Ended {
			t.Errorf("survivor %+v, want run %s, ended", s, dead.Run)
		}
		ended = append(ended, s.PID)
	}
	for _, pid := range []int{polite, stubborn} {
		if !slices.Contains(ended, pid) {
			t.Errorf("Sweep ended %v, not %d", ended, pid)
		}
		assertGone(t, pid)
	}
	for _, pid := range []int{candidate, living} {
		if slices.Contains(ended, pid) || zombie(pid) {
			t.Errorf("process %d of another run or a living kernel was ended", pid)
		}
	}
	again, err := new(Table).Sweep(t.Context(), []string{base + "auth/"}, time.Second)
	if diff := cmp.Diff([]Survivor(nil), again, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("second Sweep, error %v (-want +got):\n%s", err, diff)
	}
}

func TestSweepNamesTheCommand(t *testing.T) {
	run := fmt.Sprintf("%s-%d/", t.Name(), os.Getpid())
	_ = startSurvivor(t, deadKernel(t, run), "echo up; exec sleep 3601")
	got, err := new(Table).Sweep(t.Context(), []string{run}, time.Second)
	if err != nil || len(got) != 1 || !strings.Contains(got[0].Command, "sleep 3601") {
		t.Errorf("Sweep = %+v, %v, want the command sleep 3601", got, err)
	}
}

func TestSweepStopsWhenCancelled(t *testing.T) {
	run := fmt.Sprintf("%s-%d/", t.Name(), os.Getpid())
	_ = startSurvivor(t, deadKernel(t, run), "trap '' TERM; echo up; while :; do sleep 0.05; done")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(Table).Sweep(ctx, []string{run}, time.Hour); err == nil {
		t.Error("Sweep with a cancelled context reports no error")
	}
}

func TestSweepExcludesItself(t *testing.T) {
	if up := ancestorPIDs(); !up[os.Getpid()] || !up[os.Getppid()] {
		t.Errorf("ancestors = %v, want this process and its parent", up)
	}
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
		if got := isKernelAlive(tt.m); got != tt.want {
			t.Errorf("%s: kernelLives = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestSweepFindsTheSealed: a process that has cleared its environment, left its session and lost its parent.
func TestSweepFindsTheSealed(t *testing.T) {
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
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Sweep, error %v (-want +got):\n%s", err, diff)
	}
	if zombie(foreign) {
		t.Error("the process of another kernel was ended")
	}
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

func TestSeal(t *testing.T) {
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
		if got := tt.candidate.valid(); got != tt.valid {
			t.Errorf("%s: valid = %t", name, got)
		}
		if got := tt.candidate.sameRun(s); got != tt.run {
			t.Errorf("%s: same run = %t", name, got)
		}
	}
	if tag(0).sameRun(0) || s == newTag(m, 4) {
		t.Error("a seal that is none, or of another process, is the same")
	}
}
