// Package dryrun previews a run: the scheduler's path through a plan, and the prompt of each stage's
// first iteration.
//
// The real scheduler chooses the path, driven with assumed outcomes: every attempt succeeds and every
// strategy stops as soon as it may. The caller may assume another outcome for a node. Nothing is started and
// nothing is written. Start with [Simulate] and [Stages].
package dryrun
