// Package soak runs sessions for a long time and checks whether resources grow. The program embedder is one
// long-lived process that embeds the engine. Its memory, descriptors and goroutines must not grow. Kernels and
// plugins of the command are killed at random moments, and nothing may be left behind. Every session must end and
// have a complete journal.
//
// TestSoak runs for the duration of -soak.time. It prints a line a minute and a table at the end. It compares the
// medians of the first and the last quarter of the samples, and fails if a figure grows by more than its tolerance.
// Samples are taken between rounds, when no session runs.
package soak
