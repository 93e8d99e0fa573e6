// Package inbox carries control messages (pause, abort, answer, feedback) from any process to the process that holds
// a session. A message is the file inbox/<id>.json of the session's directory. The file appears complete and stays
// until its reader has recorded it.
//
// [Post] signs and writes a message. A message counts only for its session and run, and only with the signature of the
// user or of a key that the user trusts: agents can write into the session's directory, too. The holder of the
// session's lock reads with [Poll] or [Watch], records each message and then removes it with [Ack]. After a crash
// between recording and removal the message is read again. Readers must therefore recognise the ids that they have
// recorded.
package inbox
