// Package timeline folds the events of a session, one at a time: their places, times, durations and costs.
//
// A run consists of visits of nodes. A [Visit] consists of iterations, and an [Iteration] of attempts, each with its
// calls. Questions, failures and retries refer to the iteration that they are about.
//
// Start with [New] and [Timeline.Apply], which returns an [Entry]: the event with its location, its decoded payload and
// the parts of the timeline that it changed. A reader renders entries and keeps the parts that it needs, so that a reader
// of a long session needs little memory. The timeline itself keeps the visits of the latest run, and of each loop the
// current iteration.
//
// No decision of the engine reads a timeline. Unknown consumption counts as unknown, never as 0.
package timeline
