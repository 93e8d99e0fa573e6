// Package imports checks which package may import which, that is the layers, and other rules of the code base. The
// checks run as tests.
//
// It reads all Go files, whatever their build tags. It reports an import that points up ([Rules]), a goroutine without an
// owner, and a written package-level variable. It also reports a package without a doc.go, a func init, an exit outside
// main, a clock in a pure package, and a path of one machine. Each finding states the reason of its rule.
//
// Start with the table in rules.go.
package imports
