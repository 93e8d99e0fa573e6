// Package table shows measurements as one Markdown table, says on which machine they were made, and
// puts both into a document between two marks. It measures nothing.
package table
