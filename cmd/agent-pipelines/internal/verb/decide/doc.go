// Package decide implements the verbs that act on an existing session: answer, approve, reject, feedback, pause, abort
// and repair.
package decide
