// Package table formats measurements as a Markdown table, describes the machine, and replaces the text between two
// marks of a document.
package table
