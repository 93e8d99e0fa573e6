// Package report makes a page of a session that needs nothing else: HTML, styles and drawings in one text, no script, no
// network.
//
// A [Collector] takes the events of a session one by one; what it keeps is bounded, and what it leaves out is counted.
// [Collector.Page] adds what the kernel says of the session now, and [Write] writes it. Everything that agents and people
// said is escaped, made printable and rid of secrets on its way into the page. The package reads no file by itself.
package report
