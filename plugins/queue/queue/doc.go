// Package queue is the termination strategy queue: a stage is done when a queue is empty.
//
// By default the queue is the list of the session's ready beads (issues) that the tracker bd prints. The key command of
// the node's termination replaces bd with any command that prints one line for each item. The strategy keeps no state:
// each decision reads the queue again. Start with [Strategy.Decide].
//
// [Strategy.Release] returns the unfinished items of a dead session to the queue.
package queue
