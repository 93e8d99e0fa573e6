// Package soak runs sessions for a long time and looks whether anything grows: the memory, descriptors and goroutines of one
// long-lived process that embeds the engine (program embedder), and what the command leaves behind whose kernels and plugins
// are killed at random moments. Every session is checked for its end and for a whole journal.
//
// TestSoak is all of it; -soak.time says how long. It prints a line a minute and a table at the end, and fails where the
// median of the last quarter of the samples is over that of the first quarter by more than the tolerance. Samples are taken
// between rounds, when no session runs.
package soak
