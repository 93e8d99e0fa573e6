package cliagent

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// versionTimeout limits a call with --version; agents answer within 0.2 s.
const versionTimeout = 5 * time.Second

// Versions caches the version of each agent executable until the file changes. Concurrent first
// callers each run the executable, so that no caller waits for another. The zero value is ready to
// use. A Versions is safe for concurrent use.
type Versions struct {
	known sync.Map // versionKey to string
}

// versionKey identifies a program file; it changes when the program is updated in place.
type versionKey struct {
	path  string
	size  int64
	mtime time.Time
}

// Version runs c.Path with --version and c's directory and environment. It returns the printed version,
// "" if there is none. Only found versions are cached.
func (v *Versions) Version(ctx context.Context, c Command) string {
	info, err := os.Stat(c.Path)
	if err != nil {
		return ""
	}
	key := versionKey{c.Path, info.Size(), info.ModTime()}
	if version, ok := v.known.Load(key); ok {
		return version.(string) //nolint:forcetypeassert // nothing else is stored
	}
	version := askVersion(ctx, c)
	if version != "" {
		v.known.Store(key, version)
	}
	return version
}

func askVersion(ctx context.Context, c Command) string {
	version := ""
	ask := Command{
		Name: c.Name, Path: c.Path, Args: []string{"--version"}, Dir: c.Dir, Env: c.Env,
		Timeout: versionTimeout, Grace: time.Second,
		Line: func(line []byte) bool {
			if version == "" {
				version = findVersion(string(line))
			}
			return false
		},
	}
	if end, err := Run(ctx, ask); err != nil || !end.Clean() {
		return ""
	}
	return version
}

// findVersion finds the first version in a line such as "2.1.329 (Claude Code)" or "codex-cli
// 0.169.0-alpha.1".
func findVersion(line string) string {
	number := regexp.MustCompile(`^v?(\d+\.\d+[\w.+-]*)$`)
	for _, word := range strings.Fields(line) {
		if m := number.FindStringSubmatch(word); m != nil {
			return m[1]
		}
	}
	return ""
}

// IsOlder reports whether version precedes than; versions are texts such as "2.1.329" or "0.169.0-alpha.1". It compares
// the numbers; with equal numbers a pre-release (after a dash) precedes the release. It returns false if one of the two
// does not begin with a number.
func IsOlder(version, than string) bool {
	a, aPre := parseVersion(version)
	b, bPre := parseVersion(than)
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	for len(a) < len(b) {
		a = append(a, 0)
	}
	for len(b) < len(a) {
		b = append(b, 0)
	}
	if c := slices.Compare(a, b); c != 0 {
		return c < 0
	}
	return aPre && !bPre
}

// parseVersion returns the numbers at the beginning of a version, and whether it is a pre-release.
func parseVersion(version string) (all []uint64, pre bool) {
	version, _, _ = strings.Cut(version, "+") // build metadata
	core, _, pre := strings.Cut(version, "-")
	for part := range strings.SplitSeq(core, ".") {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			break
		}
		all = append(all, n)
	}
	return all, pre
}
