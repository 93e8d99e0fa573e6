// Package imports checks which package may import which, that is the layers, and other rules of the code base. The
// checks run as tests.
//
// It reads the source of every module under all build tags. It reports imports that point up ([Rules]) and cycles of
// packages. It also reports goroutines without an owner, written package-level variables ([Constructs]), and paths of
// one machine. Each finding states the reason of its rule.
//
// Start with the table in rules.go.
package imports
