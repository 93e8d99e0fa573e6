// Package exposition writes the consumption of sessions in the text format of Prometheus. It reads nothing: the figures
// come from the kernel, which derives them from the journals.
//
// Start with [Write].
package exposition
