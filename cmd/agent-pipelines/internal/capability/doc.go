// Package capability tells people what a component of a plugin can, from its description alone: [Rows]
// are its traits in words, [Keys] the settings that its JSON Schema names. It writes nothing and knows
// neither terminals nor Markdown; `plugins info` and docs/capabilities.md are made from the same rows.
//
// Descriptions come from plugins, which anybody may have written: what a schema says in an unexpected
// form is left out, and no text is cleaned here. Whoever prints it has to.
package capability
