// Package table formats measurements as a Markdown table, describes the machine, and writes both
// into a document between two marks.
package table
