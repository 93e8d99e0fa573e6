package main

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
)

// version is set when the command is built, by -ldflags "-X main.version=...". [thisBuild] knows better
// where it was not.
var version = unversioned

// commit is set beside it, where Go was told not to look at git.
var commit string

const unversioned = "0.0.0-dev"

// build is what is known of how the command was built.
type build document.Version

// String is the build for people.
func (b build) String() string {
	text := fmt.Sprintf("%s %s\n", program, b.Version)
	if b.Commit != "" {
		text += fmt.Sprintf("commit %s\n", b.Commit)
	}
	return text + fmt.Sprintf("%s %s/%s\n", b.Go, b.OS, b.Arch)
}

// thisBuild reads what the Go tools wrote into the binary. The commit is missing where they did not
// look at git and nobody told them.
func thisBuild() build {
	b := build{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v, released := strings.CutPrefix(info.Main.Version, "v"); version == unversioned && released { // go install
		b.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

var (
	// canonical are versions as releases have them: those of `go install` for a commit included, those between two
	// tags or with local changes not.
	canonical = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	ofCommit  = regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}$`)
	between   = regexp.MustCompile(`-dev|-\d+-g[0-9a-f]+|-dirty`)
)

// released says whether the modules of this build can be had from a module proxy at its version. A checkout that Go
// itself gave the version of its commit names the commit besides.
func (b build) released() bool {
	local := b.Commit != "" && ofCommit.MatchString(b.Version)
	return canonical.MatchString(b.Version) && !between.MatchString(b.Version) && !local
}
