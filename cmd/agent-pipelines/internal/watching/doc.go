// Package watching shows a session full screen, wherever it runs, until the person who watches leaves: the tree of its nodes,
// and below it what is told of the selected one. It reads the journal, takes no lock, and changes nothing but by what the
// person asks for: a pause, or an answer to a question.
//
// [Run] is the whole of it. A feed follows the journal and keeps what is to be shown; screenful draws that as lines and is
// a pure function; keys are turned into steps of the model.
package watching
