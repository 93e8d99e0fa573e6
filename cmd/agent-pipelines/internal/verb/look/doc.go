// Package look implements the verbs that show sessions: status, why, report, diff, list and others. They are read-only,
// except session rm and session prune, which delete sessions.
package look
