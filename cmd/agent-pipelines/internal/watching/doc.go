// Package watching shows a session full screen, wherever it runs, until the user leaves: the tree of its nodes, and
// below the tree the lines about the selected node. It reads the journal, takes no lock, and changes the session only
// at the user's request: by a pause or by an answer to a question.
//
// Start with [Run]. A feed follows the journal and keeps the lines; drawView draws them and is a pure function; keys
// become messages of the program.
package watching
