// Package exposition writes the consumption of sessions in the text format of Prometheus. It reads nothing: the figures
// are those of the kernel, which has them from the journals.
//
// Start with [Write].
package exposition
