// Package look has the verbs that show sessions: status, why, report, diff, list and the like. They change nothing but
// the sessions that session remove and prune delete.
package look
