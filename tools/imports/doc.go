// Package imports checks the layers, that is, which package may import which, and other rules of the code base. The
// checks run as tests.
//
// It reads all Go files, whatever their build tags. It reports imports that point up ([Rules]), goroutines without an
// owner, written package-level variables, and clocks in pure packages. It also reports func init, exits outside main,
// packages without a doc.go, and paths of one machine. Each finding states the reason of its rule.
//
// Start with the table in rules.go.
package imports
