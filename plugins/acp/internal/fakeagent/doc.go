// Package fakeagent is a scripted agent of the Agent Client Protocol, which replaces real agents in tests. It knows
// only the message format of the protocol; the content of its messages is in the script.
//
// Start with [Main]; acp-agent is the program.
package fakeagent
