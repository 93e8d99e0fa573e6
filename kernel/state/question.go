package state

import (
	"maps"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Question waits for a person. Its members are those of the event that asked.
type Question struct {
	Kind           string           `json:"kind"`
	Digest         string           `json:"digest"`
	Key            event.Key        `json:"key,omitempty"`  // of what waits for the answer
	Node           string           `json:"node,omitempty"` // path of the node
	Text           string           `json:"text,omitempty"`
	Options        []string         `json:"options,omitempty"`
	AcceptFeedback bool             `json:"accept_feedback,omitempty"`
	Preview        string           `json:"preview,omitempty"`
	Shown          []event.Ref      `json:"shown,omitempty"`
	AskedAt        time.Time        `json:"asked_at,omitzero"`
	Due            *time.Time       `json:"due,omitempty"`
	Code           string           `json:"code,omitempty"`
	Call           *event.AskedCall `json:"call,omitempty"`
	// Answer is what a person said; nil: nobody did yet.
	Answer *Answer `json:"answer,omitempty"`
}

// Answer is a person's answer that the run has not taken up yet.
type Answer struct {
	Word string    `json:"word"` // one of the question's options
	Text string    `json:"text,omitempty"`
	By   string    `json:"by,omitempty"`
	At   time.Time `json:"at"`
}

// Awaited are the ids of the questions that a person has not answered yet, in order.
func (s State) Awaited() []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(s.Questions)) {
		if s.Questions[id].Answer == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
