package collector

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Trace returns the received spans of a run.
func (c *Collector) Trace(runID string) []*trace.Span {
	id := event.RunTraceID(runID)
	return slices.DeleteFunc(c.Spans(), func(s *trace.Span) bool { return !bytes.Equal(s.GetTraceId(), id[:]) })
}

// Draw returns the tree of spans as text, in the order of their start: name, error, attributes, events, number of links.
func Draw(spans []*trace.Span) string {
	slices.SortStableFunc(spans, func(a, b *trace.Span) int {
		return int(a.GetStartTimeUnixNano()) - int(b.GetStartTimeUnixNano()) //nolint:gosec // times of this century
	})
	known := map[string]bool{}
	for _, s := range spans {
		known[string(s.GetSpanId())] = true
	}
	var b strings.Builder
	var draw func(around, indent string)
	draw = func(around, indent string) {
		for _, s := range spans {
			parent := string(s.GetParentSpanId())
			if !known[parent] {
				parent = ""
			}
			if parent == around {
				b.WriteString(indent + line(s) + "\n")
				draw(string(s.GetSpanId()), indent+"  ")
			}
		}
	}
	draw("", "")
	return b.String()
}

func line(s *trace.Span) string {
	text := s.GetName()
	if s.GetStatus().GetMessage() != "" {
		text += " !" + s.GetStatus().GetMessage()
	}
	for _, a := range s.GetAttributes() {
		text += " " + a.GetKey() + "=" + value(a.GetValue())
	}
	for _, e := range s.GetEvents() {
		text += " (" + e.GetName() + ")"
	}
	return text + fmt.Sprintf(" links=%d", len(s.GetLinks()))
}

func value(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	default:
		return "?"
	}
}
