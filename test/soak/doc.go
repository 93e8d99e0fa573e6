// Package soak runs sessions for a long time and checks whether anything grows. Program embedder is one long-lived
// process that embeds the engine; its memory, descriptors and goroutines must not grow. Kernels and plugins of the
// command are killed at random moments; nothing may be left behind. Every session is checked for its end and for a whole
// journal.
//
// TestSoak runs for the duration of -soak.time. It prints a line a minute and a table at the end. It fails if the median
// of the last quarter of the samples exceeds that of the first quarter by more than the tolerance. Samples are taken
// between rounds, when no session runs.
package soak
