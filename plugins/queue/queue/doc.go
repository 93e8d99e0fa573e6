// Package queue is the termination strategy "queue": a stage is done when a queue outside is empty.
//
// By default the queue is the list of ready beads of the session, as `bd` prints it; any command whose
// output has one line for each item will do (command in the node's termination). Start with
// [Strategy.Decide]. The strategy keeps no state: the queue is asked anew each time.
//
// What a dead session had taken from the queue and never finished goes back with [Strategy.Release].
package queue
