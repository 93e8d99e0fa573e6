// Package mcpserve serves the verbs of the command to agents, as tools of the Model Context Protocol over standard input
// and output.
//
// It has no rules of its own for pipelines: what only reads, and what a person can say of a session, are calls of the
// kernel; what runs is the command itself, started in the background, so that it outlives the client and meets the same
// checks. Its own are three: how far a client may go ([Level]), how much it may send and is sent, and that paths stay in
// the project. Start with [Serve]; there is one file for each group of tools.
package mcpserve
