// Package wire converts between the Go types of package sdk and the messages of the plugin protocol. Only packages
// serve and client use it. [Encode] and [Decode] convert field by field; rules.go applies the rules of the .proto for
// missing and invalid values.
//
// Decoding is tolerant, by the rules in the .proto. An unknown or unset enum value has a cautious
// meaning, and invalid JSON becomes a JSON string. No message causes a panic. Encoding never fails:
// invalid UTF-8 is replaced, counts are clamped to 32 bits, and durations are rounded up to
// milliseconds.
package wire
