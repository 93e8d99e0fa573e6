// Package inbox carries control messages (pause, abort, answer, feedback) from any process to the process that holds
// a session. A message is the file inbox/<id>.json of the session's directory. The file appears complete and stays
// until its reader has recorded it.
//
// [Post] writes a message. The holder of the session's lock reads with [Poll] or [Watch], records each message and
// then removes it with [Ack]. After a crash between recording and removal the message is read again. Readers must
// therefore recognise the ids that they have recorded.
package inbox
