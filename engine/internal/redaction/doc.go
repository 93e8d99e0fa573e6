// Package redaction takes secrets out of what the kernel writes down: it knows which parts of our events, records and
// files are texts, and which are words of the engine, paths, keys and digests, which have to stay what they are.
//
// [Event] is for the journal, and so for all that is made of it. [Failure], [Context] and [Result] are for the files
// that are written beside it, [Data] is for artifacts. What a secret is, package redact knows; docs/secrets.md says what is treated how.
package redaction
