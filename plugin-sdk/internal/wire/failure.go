package wire

import (
	"math"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// FailurePB encodes a failure without its cause. Nil stays nil.
func FailurePB(e *failure.Error) *pb.Failure {
	if e == nil {
		return nil
	}
	kind := e.Kind
	if kind == "" {
		kind = failure.Internal
	}
	return &pb.Failure{
		Kind:              text(string(kind)),
		Message:           text(e.Message),
		Hint:              text(e.Hint),
		Retryable:         e.Retryable,
		RetryAfterSeconds: e.RetryAfterSeconds,
		Detail:            text(e.Detail),
	}
}

// FromFailure decodes a failure. Nil stays nil. A wait that is not finite and positive becomes 0.
func FromFailure(m *pb.Failure) *failure.Error {
	if m == nil {
		return nil
	}
	e := &failure.Error{
		Kind:              failure.Kind(m.GetKind()),
		Message:           m.GetMessage(),
		Hint:              m.GetHint(),
		Retryable:         m.GetRetryable(),
		RetryAfterSeconds: finite(m.GetRetryAfterSeconds()),
		Detail:            m.GetDetail(),
	}
	if e.Kind == "" {
		e.Kind = failure.Internal
	}
	if e.Message == "" {
		e.Message = "the plugin reported a failure without a message"
	}
	return e
}

// finite returns f if it is finite and not negative, else 0.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return 0
	}
	return f
}
