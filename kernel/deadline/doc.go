// Package deadline limits the time of a call, without the time that it waits for its turn.
//
// Calls on a component that allows one at a time stand in a queue. Who makes a call says how long it may
// take ([With]), who keeps the queue says when it waits ([Pause]); the two know nothing of each other.
package deadline
