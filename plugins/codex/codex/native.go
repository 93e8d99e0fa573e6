package codex

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// nativeProgram returns the program that npm's wrapper script bin/codex.js would start, so that the started process is the
// agent itself: with an older Node the wrapper is the agent's parent, and leaves it running when killed. Any other path is
// returned unchanged, also if the program is not in one of the wrapper's directories.
func nativeProgram(path, goos, goarch string) string {
	platform, triple := npmPlatform(goos, goarch)
	wrapper := findWrapper(path)
	if platform == "" || wrapper == "" {
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

// findWrapper returns the wrapper script behind a command, "" for another command. npm and bun install a symbolic link to
// the wrapper, pnpm a shell script that starts it.
func findWrapper(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if filepath.Base(target) != "codex.js" {
		rel := shimTarget(readStart(target))
		if rel == "" {
			return ""
		}
		if target, err = filepath.EvalSymlinks(filepath.Join(filepath.Dir(target), rel)); err != nil {
			return ""
		}
	}
	return target
}

// shimBytes exceeds the size of pnpm's shell scripts.
const shimBytes = 16 << 10

func readStart(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, shimBytes))
	if err != nil {
		return ""
	}
	return string(text)
}

// pnpmShim matches pnpm's script that starts the wrapper; basedir is the script's own directory.
var pnpmShim = regexp.MustCompile(`(?m)^#!/bin/sh\n(?s:.*)\bexec node +"\$basedir/([^"$\n]*/@openai/codex/bin/codex\.js)" "\$@"`)

// shimTarget returns the wrapper that pnpm's shell script starts, relative to the script's directory, "" for another script.
func shimTarget(script string) string {
	m := pnpmShim.FindStringSubmatch(script)
	if m == nil {
		return ""
	}
	return filepath.FromSlash(m[1])
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
