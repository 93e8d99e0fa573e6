// Package workspace inspects the directory that agents work in: its changes since a time, and the movement of its
// repository's head.
//
// It starts nothing and changes nothing. It inspects only after an attempt was abandoned, within bounds. Start with
// [Since].
package workspace
