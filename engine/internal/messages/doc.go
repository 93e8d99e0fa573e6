// Package messages sends answers, feedback, pauses and aborts to sessions. It passes a message directly to a
// session of this engine. If another kernel holds the session, the message goes to the session's inbox; if none
// does, it is journaled.
//
// Start with [Sender].
package messages
