// Package redact takes secrets out of texts.
//
// A [Redactor] knows what looks like a secret (the rules of rule.go: keys with a known beginning, and values that
// stand beside a telling name), the exact values of the variables whose names say that they are secret, and patterns
// that somebody gave it. Each find is replaced by [Mark]. A reference such as ${NAME} names a secret without telling
// it and always stays.
//
// There are two strengths. A redactor as [New] makes it is for the texts of a program: messages, records, logs.
// [Redactor.Agent] is for the texts of agents, which are about programs and full of names and values: it leaves out the
// guesses by a name, so that code and prose stay what they are.
//
// Redacting a text twice is the same as once, valid UTF-8 stays valid, and the work is about one search of the text for
// a few words where there is nothing to find. A document of JSON is redacted string by string ([Redactor.JSON]), a text
// that comes in lines, such as a log, by [Redactor.Lines], one that comes in pieces by [Redactor.Stream].
// [Redactor.Find] tells what is in a text and changes nothing.
//
// The package knows texts alone: which texts are ours, and which belong to an agent, is for others to say.
package redact
