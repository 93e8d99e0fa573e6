// Package redaction removes secrets from everything that the engine writes. It knows which parts of events, records
// and files are texts, and which are keywords, paths, keys and digests that must not change.
//
// [Event] is for the journal and for all files made from it. [Failure], [Context] and [Result] are for other files of
// a session, [Data] is for artifacts. Package redact finds the secrets; docs/secrets.md describes the treatment of
// each part.
package redaction
