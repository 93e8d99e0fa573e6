// Package fakeagent is an agent that speaks the Agent Client Protocol and does what a script says: the stand-in
// for real ones in tests. It knows no more of the protocol than its lines; what it sends is in the script.
//
// Start with [Main]; acp-agent is the program.
package fakeagent
