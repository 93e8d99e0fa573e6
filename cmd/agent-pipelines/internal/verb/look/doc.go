// Package look implements the verbs that show sessions: status, why, report, diff, list and others. They change no
// session, except watch, which can pause it and answer its questions, and session rm and prune, which delete sessions.
package look
