// Package event holds the events of a session: the envelope, the typed data of each kind, the keys that make repeated
// commands harmless, and the line format of events.jsonl.
//
// The journal of events is the source of truth of a session; state is a fold over it (package progress). The package
// is pure: no clock, no randomness, no files. Times and ids arrive inside events. Start with [Event], [Type] and
// [Key].
package event
