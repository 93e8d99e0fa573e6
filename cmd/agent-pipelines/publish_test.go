package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// installed is the version that the tests publish.
const installed = "v0.0.0-20260102030405-0123456789ab"

// publication is a file-based module proxy with the modules of the working tree, as a release publishes them.
type publication struct {
	// bin is the directory of the command, built by `go install`.
	bin string
	// env makes the go command use the proxy and the module cache, without a network and without lasting files.
	env []string
}

// published returns the publication, which all tests share.
func published(t *testing.T) publication {
	t.Helper()
	p, err := publish()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var publish = sync.OnceValues(func() (publication, error) {
	proxy, bin := filepath.Join(programs, "proxy"), filepath.Join(programs, "published")
	if _, err := command("../..", nil, "run", "./tools/modproxy", "-version", installed, "-module", "cmd/agent-pipelines", "-out", proxy); err != nil {
		return publication{}, err
	}
	// Without the workspace other versions may be chosen: this downloads the missing ones.
	for _, dir := range []string{".", "../../plugin-sdk"} {
		if _, err := command(dir, []string{"GOWORK=off"}, "list", "-deps", "-test", "./..."); err != nil {
			return publication{}, err
		}
	}
	downloads, err := command(".", nil, "env", "GOMODCACHE")
	if err != nil {
		return publication{}, err
	}
	cache, err := command(".", nil, "env", "GOCACHE") // -trimpath lets it serve any directory
	if err != nil {
		return publication{}, err
	}
	p := publication{bin: bin, env: []string{
		"GOMODCACHE=" + filepath.Join(programs, "modules"), "GOCACHE=" + cache, "GOWORK=off", "GOENV=off", "GOTOOLCHAIN=local",
		"GOFLAGS=-trimpath -modcacherw", "GOPROXY=file://" + proxy + ",file://" + downloads + "/cache/download", "GOSUMDB=off",
		"GOPRIVATE=", "GONOPROXY=", "GONOSUMDB=",
	}}
	_, err = command(programs, append(p.env, "GOBIN="+bin, "CGO_ENABLED=0"),
		"install", "github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines@"+installed)
	return p, err
})

// command runs the go command and returns the line that it printed.
func command(dir string, env []string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
