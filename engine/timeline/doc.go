// Package timeline folds the events of a session, one at a time: their places, times, durations and costs.
//
// A run consists of visits of nodes. A [Visit] consists of iterations, and an [Iteration] of attempts, each with its
// calls. Questions, failures and retries refer to the iteration that they are about.
//
// Start with [New] and [Timeline.Apply], which returns an [Entry]: the event with its location, its decoded payload and
// the parts of the timeline that it changed. A reader renders entries and keeps only the parts that it needs, so that
// it needs little memory for a long session. The timeline itself keeps the visits of the latest run, and the current
// iteration of each node, provider of a parallel block, and step.
//
// The engine makes no decision from a timeline. Unknown consumption counts as unknown, never as 0.
package timeline
