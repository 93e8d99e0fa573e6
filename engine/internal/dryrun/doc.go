// Package dryrun shows a run before it is one: which way the scheduler would take through a plan, and the
// prompt that each stage's first iteration would get.
//
// The way is that of the real scheduler, driven with assumed outcomes: every attempt succeeds and every
// strategy says stop as soon as it may, unless the caller assumes otherwise of a node. Nothing is started and
// nothing is written. Start with [Simulate] and [Stages].
package dryrun
