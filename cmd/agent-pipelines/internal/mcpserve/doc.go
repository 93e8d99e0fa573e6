// Package mcpserve serves the verbs of the command to agents, as tools of the Model Context Protocol over standard input
// and output.
//
// It has no rules of its own for pipelines: reading tools and answers call the engine; runs are the command itself,
// started in the background, so that they outlive the client and meet the same checks. It adds three rules: a
// client's permissions ([Level]), limits on the size of messages, and that paths stay in the project. Start with [Serve]; each
// group of tools has one file.
package mcpserve
