package wire

import (
	"cmp"
	"math"
	"reflect"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// fallbacks maps enumerations to the meaning of unset and unknown values, which is "" for other enumerations.
var fallbacks = map[reflect.Type]string{
	reflect.TypeFor[sdk.Concurrency]():    string(sdk.ConcurrencySafe),
	reflect.TypeFor[sdk.Locality]():       string(sdk.LocalityRemote),
	reflect.TypeFor[sdk.Reporting]():      string(sdk.ReportsNever),
	reflect.TypeFor[sdk.Purpose]():        string(sdk.PurposeWork),
	reflect.TypeFor[sdk.Stream]():         string(sdk.StreamText),
	reflect.TypeFor[sdk.Effect]():         string(sdk.EffectOnce),
	reflect.TypeFor[sdk.ToolStatus]():     string(sdk.ToolError),
	reflect.TypeFor[sdk.VerdictAction]():  string(sdk.VerdictDeny),
	reflect.TypeFor[sdk.DecisionAction](): string(sdk.DecisionContinue),
	reflect.TypeFor[sdk.Outcome]():        string(sdk.OutcomeFailed),
}

// complete replaces missing, unknown and invalid parts of a converted value by their meanings.
func complete(value any) {
	switch v := value.(type) {
	case *pb.Failure:
		v.Kind = cmp.Or(v.GetKind(), string(failure.Internal))
	case *failure.Error:
		v.Kind = cmp.Or(failure.Kind(failure.OneLine(string(v.Kind))), failure.Internal)
		v.Message = cmp.Or(failure.OneLine(v.Message), "the plugin reported a failure without a message")
		v.Hint = failure.OneLine(v.Hint)
		v.RetryAfterSeconds = finite(v.RetryAfterSeconds)
	case *sdk.Description: // a component of an unknown kind is of no use
		all := v.Components
		v.Components = nil
		for _, c := range all {
			if c.Kind != "" {
				v.Components = append(v.Components, c)
			}
		}
	case *sdk.ProviderTraits:
		v.ContextTokens = max(0, v.ContextTokens)
		*v = v.WithDefaults()
	case *sdk.Usage: // an impossible figure is unknown
		for _, tokens := range []**int64{&v.InputTokens, &v.OutputTokens, &v.CacheReadTokens, &v.CacheWriteTokens, &v.ReasoningTokens} {
			*tokens = within(*tokens, maxTokens)
		}
		v.CostUSD = within(v.CostUSD, maxCostUSD)
	case *sdk.Verdict:
		if v.Action == sdk.VerdictUse && v.Result == nil {
			v.Action, v.Reason = sdk.VerdictDeny, "the kernel's verdict is use, without a result"
		}
	case *sdk.Decision:
		v.Confidence, v.Reason = min(1, finite(v.Confidence)), failure.OneLine(v.Reason)
	case *sdk.HookAnswer:
		v.Reason = failure.OneLine(v.Reason)
		switch v.Action {
		case sdk.ActionPause, sdk.ActionAbort, sdk.ActionRestartStage, sdk.ActionModifyContext:
		default:
			v.Action = sdk.ActionContinue
		}
	}
}

// The bounds of one report of usage. They exceed every model, and sums of many reports stay in the range of their types.
const (
	maxTokens  = 1_000_000_000_000
	maxCostUSD = 1_000_000_000
)

// within returns n if it is at least 0 and at most limit, else nil.
func within[N int64 | float64](n *N, limit N) *N {
	if n != nil && *n >= 0 && *n <= limit { // which NaN is not
		return n
	}
	return nil
}

// finite returns f if it is finite and not negative, else 0.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return 0
	}
	return f
}

// Ref identifies the component of a request. An unknown kind becomes "", which no component has.
type Ref struct {
	Kind sdk.Kind
	Name string
}

// Request returns the message of type M for a request to a component.
func Request[M any](ref Ref, request any) *M {
	m := Encode[M](request)
	reflect.ValueOf(m).Elem().FieldByName("Component").Set(reflect.ValueOf(Encode[pb.ComponentRef](ref)))
	return m
}

// OutputPB encodes a piece of output, byte for byte.
func OutputPB(c sdk.OutputChunk) *pb.OutputChunk {
	return &pb.OutputChunk{Stream: pb.Stream(toEnum(pb.Stream(0), string(c.Stream))), Data: []byte(c.Text)}
}

// FromOutput decodes a piece of output.
func FromOutput(m *pb.OutputChunk) sdk.OutputChunk {
	return sdk.OutputChunk{Stream: sdk.Stream(fromEnum(m.GetStream(), string(sdk.StreamText))), Text: string(m.GetData())}
}

// ToolResultPB encodes the result of a tool call; observed marks the result of an observed call.
func ToolResultPB(r sdk.ToolResult, observed bool) *pb.ToolResult {
	m := Encode[pb.ToolResult](r)
	m.Observed = observed
	return m
}

// FailurePB encodes a failure without its cause. Nil stays nil.
func FailurePB(e *failure.Error) *pb.Failure {
	if e == nil {
		return nil
	}
	return Encode[pb.Failure](*e)
}

// FromFailure decodes a failure. Nil stays nil.
func FromFailure(m *pb.Failure) *failure.Error {
	if m == nil {
		return nil
	}
	e := Decode[failure.Error](m)
	return &e
}

// ResultPB encodes the result of an attempt.
func ResultPB(r sdk.ExecuteResult) *pb.ExecuteResult {
	m := Encode[pb.ExecuteResult](r)
	m.Failure = FailurePB(r.Error)
	return m
}

// FromResult decodes the result of an attempt. An unset outcome means failed if there is a failure, else
// succeeded. An unknown outcome counts as failed.
func FromResult(m *pb.ExecuteResult) sdk.ExecuteResult {
	r := Decode[sdk.ExecuteResult](m)
	r.Error = FromFailure(m.GetFailure())
	if m.GetOutcome() == pb.Outcome_OUTCOME_UNSPECIFIED && r.Error == nil {
		r.Outcome = sdk.OutcomeSucceeded
	}
	return r
}
