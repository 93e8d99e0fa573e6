// Package question is the form in which seed 001 puts a question of kind escalation to people: a file
// escalations/ESC-<yyyymmddHHMMSS>.yaml of the session, and beside it the one that answers it,
// ESC-….resolution.yaml, which a person or a program writes.
//
// [Render] makes the first; package view writes it, like the questions themselves. [Parse] reads the second, strictly:
// what a person wrote and nobody understood would keep a run waiting for ever. [Read] looks for it in a session's
// directory, [Watch] does so again and again. What the answer does is for whoever holds the session: it becomes the same
// event as an answer from the command line.
package question
