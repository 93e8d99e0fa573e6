// Package report renders a session as one HTML page with its styles and drawings, without scripts and network access.
//
// A [Collector] collects the entries of a timeline; it keeps a bounded number of them and counts the others.
// [Collector.Write] adds the session's status and writes the page. All texts of agents and users are escaped, made
// printable and redacted. The package reads no file itself.
package report
