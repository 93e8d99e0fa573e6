package cli

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
)

// Version is set at build time by -ldflags "-X <this package>.Version=...". If it was not set, [CurrentBuild] derives the
// version from the module.
var Version = unversioned

// commit is set at build time like Version, for builds with -buildvcs=false.
var commit string

const unversioned = "0.0.0-dev"

// BuildInfo describes the build of the command.
type BuildInfo document.Version

// String returns the build as text, one fact per line.
func (b BuildInfo) String() string {
	text := fmt.Sprintf("%s %s\n", Program, b.Version)
	if b.Commit != "" {
		text += fmt.Sprintf("commit %s\n", b.Commit)
	}
	return text + fmt.Sprintf("%s %s/%s\n", b.Go, b.OS, b.Arch)
}

// CurrentBuild reads the build information in the binary. The commit is missing if neither Go's VCS stamping nor -ldflags
// set it.
func CurrentBuild() BuildInfo {
	b := BuildInfo{Version: Version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v, released := strings.CutPrefix(info.Main.Version, "v"); Version == unversioned && released { // set by go install, and by go build in a checkout
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
	releaseVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	// pseudoVersion matches Go's pseudo-version of a commit, which `go install` uses.
	pseudoVersion = regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}$`)
	// untaggedVersion matches a version from git describe between two tags, and a version with local changes.
	untaggedVersion = regexp.MustCompile(`-dev|-\d+-g[0-9a-f]+|-dirty`)
)

// Released reports whether a module proxy serves this build's modules at its version. A pseudo-version together with a
// commit means that Go built a checkout, which is not released.
func (b BuildInfo) Released() bool {
	local := b.Commit != "" && pseudoVersion.MatchString(b.Version)
	return releaseVersion.MatchString(b.Version) && !untaggedVersion.MatchString(b.Version) && !local
}
