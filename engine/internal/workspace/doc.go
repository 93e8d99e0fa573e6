// Package workspace looks at the directory that agents work in: what changed there since a moment, and where the
// head of its repository went.
//
// It starts nothing and changes nothing. It looks only when an attempt was given up, within bounds. Start with
// [Since].
package workspace
