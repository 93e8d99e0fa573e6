// Package messages sends answers, feedback, pauses and aborts to sessions. Answers and feedback reach a session of this
// engine directly. In all other cases the message goes to the inbox of a session that a kernel holds. If no kernel
// holds the session, the message is journaled, except a pause, which is refused.
//
// Start with [Sender].
package messages
