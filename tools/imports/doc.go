// Package imports checks which package may import which, that is the layers, and other rules of the code base. The
// checks run as tests.
//
// It reads the source of every module under all build tags and reports: an import that points up
// ([Rules]), a cycle of packages, a goroutine without an owner or a written package-level variable ([Constructs]), and
// a path of one machine. Each finding states the reason of its rule.
//
// Start with the table in rules.go.
package imports
