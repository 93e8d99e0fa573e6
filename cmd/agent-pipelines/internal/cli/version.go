package cli

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
)

// Version is set when the command is built, by -ldflags "-X <this package>.Version=...". [CurrentBuild] knows better
// where it was not.
var Version = unversioned

// commit is set beside it, where Go was told not to look at git.
var commit string

const unversioned = "0.0.0-dev"

// BuildInfo is what is known of how the command was built.
type BuildInfo document.Version

// String is the build for people.
func (b BuildInfo) String() string {
	text := fmt.Sprintf("%s %s\n", Program, b.Version)
	if b.Commit != "" {
		text += fmt.Sprintf("commit %s\n", b.Commit)
	}
	return text + fmt.Sprintf("%s %s/%s\n", b.Go, b.OS, b.Arch)
}

// CurrentBuild reads what the Go tools wrote into the binary. The commit is missing where they did not
// look at git and nobody told them.
func CurrentBuild() BuildInfo {
	b := BuildInfo{Version: Version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v, released := strings.CutPrefix(info.Main.Version, "v"); Version == unversioned && released { // go install
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

// Released says whether the modules of this build can be had from a module proxy at its version. A checkout that Go
// itself gave the version of its commit names the commit besides.
func (b BuildInfo) Released() bool {
	local := b.Commit != "" && ofCommit.MatchString(b.Version)
	return canonical.MatchString(b.Version) && !between.MatchString(b.Version) && !local
}
