// Package messages sends answers, feedback, pauses and aborts to sessions. It passes a message to a session of this
// engine, posts it to the inbox of a session that another kernel holds, and journals it if no kernel does.
//
// Start with [Sender].
package messages
