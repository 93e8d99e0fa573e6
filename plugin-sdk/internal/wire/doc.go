// Package wire translates between the plain Go types of package sdk and the messages of the plugin
// protocol, in both directions and for both ends. It is the only place that knows both; packages
// serve and client call it and nobody else does.
//
// Decoding is tolerant by the rules that stand in the .proto: an enum value that is unknown or unset
// has its careful reading, JSON that is none becomes a JSON string, and nothing panics whatever a
// peer sends. Encoding never fails: text that is not UTF-8 gets replacement characters, counts are
// held within 32 bits, durations are whole milliseconds rounded up.
//
// Start with execute.go, the conversation of one attempt. Names end in PB for the way onto the wire
// and begin with From for the way back.
package wire
