//go:build e2ereal

package e2ereal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// installed holds the paths of the CLIs by name.
var installed = map[string]string{}

// surround installs the CLIs, which needs the network. Then it runs the tests in a process that has
// only the loopback interface, and checks whether anything tried to reach another machine.
func surround(m *testing.M) int {
	if err := install(); err != nil {
		return fail(err)
	}
	if os.Getenv(NetworkVariable) == NetworkHost {
		fmt.Printf("%s=%s: whether anything leaves the loopback interface is not checked\n", NetworkVariable, NetworkHost)
		return run(m)
	}
	if !Inside() {
		code, err := Isolated(os.Args[1:]...)
		if errors.Is(err, errors.ErrUnsupported) {
			fmt.Println("whether anything leaves the loopback interface is checked on Linux only")
			return run(m)
		}
		if err != nil {
			return fail(err)
		}
		return code
	}
	if err := LoopbackUp(); err != nil {
		return fail(err)
	}
	return watched(m)
}

// watched runs the tests and fails if a counter of [Strays] has changed.
func watched(m *testing.M) int {
	before, err := ReadStrays()
	if err != nil {
		return fail(err)
	}
	code := run(m)
	after, err := ReadStrays()
	if err != nil {
		return fail(err)
	}
	if !maps.Equal(before, after) {
		return fail(fmt.Errorf("something tried to leave the loopback interface: counters were %v, are %v", before, after))
	}
	fmt.Printf("nothing tried to leave the loopback interface: %v\n", after)
	return code
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "e2ereal:", err)
	return 1
}

func install() error {
	cache, err := CacheDir()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	clis := []CLI{Claude, Codex}
	if !*smoke {
		clis = append(clis, ClaudeACP, CodexACP)
	}
	for _, cli := range clis {
		if installed[cli.Name], err = cli.Install(ctx, cache); err != nil {
			return err
		}
	}
	return nil
}

// cli returns the path of an installed CLI.
func cli(t *testing.T, c CLI) string {
	t.Helper()
	path := installed[c.Name]
	if !filepath.IsAbs(path) {
		t.Fatalf("%s is not installed", c.Name)
	}
	return path
}
