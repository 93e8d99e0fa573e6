// Package exposition writes what sessions took in the text format of Prometheus. It reads nothing: the figures are those
// of the kernel, which has them from the journals.
//
// Start with [Write].
package exposition
