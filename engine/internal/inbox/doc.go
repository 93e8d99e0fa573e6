// Package inbox carries control messages (pause, abort, stop, answer, feedback) from any process to
// the one that holds a session. A message is the file inbox/<id>.json of the session's directory; it
// appears there whole and stays there until its reader has recorded it.
//
// [Post] leaves a message. The holder of the session's lock reads with [Poll] or [Watch], records
// each message and then removes it with [Ack]. A crash between the two shows the message again, so
// readers recognise an id they have recorded.
package inbox
