// Package redact takes secrets out of texts.
//
// A [Redactor] knows two kinds of secrets: what looks like one (the rules of rule.go: keys with a known
// beginning, and values that stand beside a telling name), and the exact values of the variables whose
// names say that they are secret. Each is replaced by [Mark]. A reference such as ${NAME} names a secret
// without telling it and always stays.
//
// Redacting a text twice is the same as once, valid UTF-8 stays valid, and the work is about one search of
// the text for a few words where there is nothing to find. A text that comes in lines, such as a log,
// is redacted by [Redactor.Lines], which remembers that it is inside a private key.
//
// The package knows texts alone: which texts are ours, and which belong to an agent, is for others to say.
package redact
