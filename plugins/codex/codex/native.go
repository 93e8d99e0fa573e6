package codex

import (
	"os"
	"path/filepath"
)

// nativeProgram returns the program that npm's wrapper script bin/codex.js would start, so that the started process is the
// agent itself: with an older Node the wrapper is the agent's parent, and leaves it running when killed. Any other path is
// returned unchanged, also if the program is not in one of the wrapper's directories.
func nativeProgram(path, goos, goarch string) string {
	platform, triple := npmPlatform(goos, goarch)
	wrapper, err := filepath.EvalSymlinks(path) // npm and bun install a symbolic link
	if platform == "" || err != nil || filepath.Base(wrapper) != "codex.js" {
		return path
	}
	program := filepath.Join("vendor", triple, "bin", "codex")
	root := filepath.Dir(filepath.Dir(wrapper))  // of the package @openai/codex
	for dir := root; ; dir = filepath.Dir(dir) { // as Node resolves a package
		place := filepath.Join(dir, "node_modules", "@openai", "codex-"+platform, program)
		if isProgram(place) {
			return place
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if place := filepath.Join(root, program); isProgram(place) {
		return place
	}
	return path
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// npmPlatform returns the names of a system in npm packages and of its programs, "" for an unsupported system.
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
