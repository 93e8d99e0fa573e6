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

// installed is the version that the tests release.
const installed = "v0.1.0-test"

// publication is a release of the working tree.
type publication struct {
	// bin is the directory of the command, built by `go install`.
	bin string
	// env makes the go command find the release, without a network and without lasting files.
	env []string
}

// published returns the publication, which all tests share.
func published(t *testing.T) publication {
	t.Helper()
	p, err := publish()
	require(t, err == nil, err)
	return p
}

var publish = sync.OnceValues(func() (publication, error) {
	repository, bin := filepath.Join(programs, "repository"), filepath.Join(programs, "published")
	if err := release(repository); err != nil {
		return publication{}, err
	}
	// A new module is tidied, which needs the modules of the tests of other modules, too: this downloads the missing ones.
	for _, dir := range []string{".", "../../plugin-sdk"} {
		if _, err := command(dir, []string{"GOWORK=off"}, "mod", "tidy", "-diff"); err != nil {
			return publication{}, err
		}
	}
	downloads, err := command(".", nil, "env", "GOMODCACHE")
	if err != nil {
		return publication{}, err
	}
	cache, err := goCache() // with -trimpath, the cache serves any directory
	if err != nil {
		return publication{}, err
	}
	p := publication{bin: bin, env: []string{
		"GOMODCACHE=" + filepath.Join(programs, "modules"), "GOCACHE=" + cache, "GOWORK=off", "GOENV=off", "GOTOOLCHAIN=local",
		"GOFLAGS=-trimpath -modcacherw -vet=off " + os.Getenv("GOFLAGS"), "CGO_ENABLED=0", "GOPROXY=file://" + downloads + "/cache/download", "GOSUMDB=off", "GOPRIVATE=", "GONOSUMDB=",
		"GONOPROXY=github.com/dodo-digital/agent-pipelines", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=url.file://" + repository + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/dodo-digital/agent-pipelines",
	}}
	_, err = command(programs, append(p.env, "GOBIN="+bin),
		"install", "github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines@"+installed)
	return p, err
})

// release copies the working tree into a new repository and releases it there.
func release(repository string) error {
	const script = `set -e
git init -q "$1"
git --git-dir="$1/.git" --work-tree=../.. add --all
cd "$1"
git commit -qm all
git reset -q --hard
printf '\n## [%s]\n' "${2#v}" >>CHANGELOG.md
git commit -qam changelog
make release RELEASE="$2"`
	cmd := exec.Command("sh", "-c", script, "sh", repository, installed)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("release the working tree: %w\n%s", err, text)
	}
	return nil
}

// command runs the go command and returns its output without surrounding space.
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
