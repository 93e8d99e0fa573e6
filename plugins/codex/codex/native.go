package codex

import (
	"os"
	"path/filepath"
)

// native finds the program that npm's wrapper script bin/codex.js would start, so that the process we
// control is the agent itself: a killed wrapper leaves it running. Everything else is returned as it
// is, also where the program is not in one of the places that the wrapper looks in.
func native(path, goos, goarch string) string {
	platform, triple := npmPlatform(goos, goarch)
	target, err := filepath.EvalSymlinks(path)
	if err != nil || platform == "" || filepath.Base(target) != "codex.js" {
		return path
	}
	root := filepath.Dir(filepath.Dir(target)) // of the package @openai/codex
	program := filepath.Join("vendor", triple, "bin", "codex")
	for _, place := range []string{
		filepath.Join(root, "node_modules", "@openai", "codex-"+platform, program),
		filepath.Join(filepath.Dir(root), "codex-"+platform, program),
		filepath.Join(root, program),
	} {
		if info, err := os.Stat(place); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return place
		}
	}
	return path
}

// npmPlatform is how the npm packages name a system and its programs, "" where there is none.
func npmPlatform(goos, goarch string) (platform, triple string) {
	switch goos + "/" + goarch {
	case "linux/amd64":
		return "linux-x64", "x86_64-unknown-linux-musl"
	case "linux/arm64":
		return "linux-arm64", "aarch64-unknown-linux-musl"
	case "darwin/amd64":
		return "darwin-x64", "x86_64-apple-darwin"
	case "darwin/arm64":
		return "darwin-arm64", "aarch64-apple-darwin"
	}
	return "", ""
}
