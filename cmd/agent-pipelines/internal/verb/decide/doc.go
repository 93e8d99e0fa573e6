// Package decide has the verbs that decide about a session that exists: answer, approve, reject, pause, abort, repair.
package decide
