// Package capability describes a plugin's component to users from its description alone: [Rows] returns its traits in
// words, [Keys] the settings of its JSON Schema. It writes nothing and knows neither terminals nor Markdown; `plugins
// info` and docs/capabilities.md use the same rows.
//
// Descriptions come from plugins of any origin: a schema's unexpected parts are left out, and no text is cleaned
// here. A caller that prints the texts must clean them.
package capability
