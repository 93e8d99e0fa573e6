// Package redact removes secrets from texts.
//
// A [Redactor] knows the forms of secrets (rule.go), the values of variables with secret names, and
// the caller's patterns. It replaces each match with [Mark]. References such as ${NAME} stay.
//
// A redactor from [New] is for the texts of a program: messages, records, logs. [Redactor.ForAgent] is
// for the texts of agents: it does not guess by names, so that code and prose stay unchanged.
//
// Redacting twice equals redacting once, and valid UTF-8 stays valid. [Redactor.JSON] handles
// documents, [Redactor.Lines] lines, [Redactor.Stream] pieces; [Redactor.Find] only reports.
package redact
