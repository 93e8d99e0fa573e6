package wire

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// TestUnknownEnumValues checks the meanings that the .proto gives unknown values.
func TestUnknownEnumValues(t *testing.T) {
	result := func(o pb.Outcome, f *pb.Failure) sdk.Outcome {
		return FromResult(&pb.ExecuteResult{Outcome: o, Failure: f}).Outcome
	}
	tests := []struct {
		name string
		want any
		got  func(value int32) any
	}{
		{"concurrency", sdk.ConcurrencySafe, func(v int32) any {
			return Decode[sdk.Component](&pb.Component{Concurrency: pb.Concurrency(v)}).Concurrency
		}},
		{"locality", sdk.LocalityRemote, func(v int32) any {
			return Decode[sdk.ProviderTraits](&pb.ProviderTraits{Locality: pb.Locality(v)}).Locality
		}},
		{"model choice without models", sdk.ModelsAny, func(v int32) any {
			return Decode[sdk.ProviderTraits](&pb.ProviderTraits{ModelChoice: pb.ModelChoice(v)}).ModelChoice
		}},
		{"model choice with models", sdk.ModelsListed, func(v int32) any {
			return Decode[sdk.ProviderTraits](&pb.ProviderTraits{ModelChoice: pb.ModelChoice(v), Models: []string{"m"}}).ModelChoice
		}},
		{"usage", sdk.ReportsNever, func(v int32) any {
			return Decode[sdk.ProviderTraits](&pb.ProviderTraits{Usage: pb.Reporting(v)}).Usage
		}},
		{"cost", sdk.ReportsNever, func(v int32) any {
			return Decode[sdk.ProviderTraits](&pb.ProviderTraits{Cost: pb.Reporting(v)}).Cost
		}},
		{"purpose", sdk.PurposeWork, func(v int32) any { return Decode[sdk.ExecuteRequest](&pb.ExecuteStart{Purpose: pb.Purpose(v)}).Purpose }},
		{"stream", sdk.StreamText, func(v int32) any { return FromOutput(&pb.OutputChunk{Stream: pb.Stream(v)}).Stream }},
		{"effect", sdk.EffectOnce, func(v int32) any { return Decode[sdk.ToolCall](&pb.ToolCall{Effect: pb.Effect(v)}).Effect }},
		{"tool status", sdk.ToolError, func(v int32) any {
			return Decode[sdk.ToolResult](&pb.ToolResult{Status: pb.ToolStatus(v)}).Status
		}},
		{"verdict", sdk.VerdictDeny, func(v int32) any { return Decode[sdk.Verdict](&pb.ToolVerdict{Action: pb.VerdictAction(v)}).Action }},
		{"decision", sdk.DecisionContinue, func(v int32) any {
			return Decode[sdk.Decision](&pb.DecideResponse{Action: pb.DecisionAction(v)}).Action
		}},
		{"outcome with a failure", sdk.OutcomeFailed, func(v int32) any { return result(pb.Outcome(v), &pb.Failure{}) }},
		{"kind is left out", 0, func(v int32) any {
			d := Decode[sdk.Description](&pb.DescribeResponse{Components: []*pb.Component{{Kind: pb.Kind(v), Name: "x"}}})
			return len(d.Components)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, value := range []int32{0, 99, -1} {
				if diff := cmp.Diff(tt.want, tt.got(value)); diff != "" {
					t.Errorf("value %d (-want +got):\n%s", value, diff)
				}
			}
		})
	}
	if got := result(pb.Outcome_OUTCOME_UNSPECIFIED, nil); got != sdk.OutcomeSucceeded {
		t.Errorf("unset outcome without a failure: got %s, want succeeded", got)
	}
	if got := result(99, nil); got != sdk.OutcomeFailed {
		t.Errorf("unknown outcome without a failure: got %s, want failed", got)
	}
}

// TestEnumNames proves that each word of the SDK has a wire value of its own, and the reverse.
func TestEnumNames(t *testing.T) {
	haveValues[pb.Kind](t, sdk.KindProvider, sdk.KindTermination, sdk.KindHookAction)
	haveValues[pb.Concurrency](t, sdk.ConcurrencySafe, sdk.ConcurrencySerial)
	haveValues[pb.Locality](t, sdk.LocalityLocal, sdk.LocalityRemote, sdk.LocalityConfigured)
	haveValues[pb.ModelChoice](t, sdk.ModelsAny, sdk.ModelsListed, sdk.ModelsConfigurable)
	haveValues[pb.Reporting](t, sdk.ReportsNever, sdk.ReportsSome, sdk.ReportsAlways)
	haveValues[pb.Purpose](t, sdk.PurposeWork, sdk.PurposeQuestion)
	haveValues[pb.Stream](t, sdk.StreamText, sdk.StreamRaw, sdk.StreamStderr)
	haveValues[pb.Effect](t, sdk.EffectNone, sdk.EffectIdempotent, sdk.EffectOnce)
	haveValues[pb.ToolStatus](t, sdk.ToolSuccess, sdk.ToolError, sdk.ToolTimeout, sdk.ToolDenied)
	haveValues[pb.VerdictAction](t, sdk.VerdictRun, sdk.VerdictDeny, sdk.VerdictSkip, sdk.VerdictUse)
	haveValues[pb.DecisionAction](t, sdk.DecisionContinue, sdk.DecisionStop, sdk.DecisionError, sdk.DecisionAsk)
	haveValues[pb.Outcome](t, sdk.OutcomeSucceeded, sdk.OutcomeFailed, sdk.OutcomeEmpty, sdk.OutcomePermissionDenied,
		sdk.OutcomeRateLimited, sdk.OutcomeNeedsPerson, sdk.OutcomeInfrastructure)
}

func haveValues[P interface {
	~int32
	protoreflect.Enum
}, W ~string](t *testing.T, words ...W) {
	t.Helper()
	for i, word := range words {
		if got := toEnum(P(0), string(word)); int(got) != i+1 || fromEnum(P(got), "") != string(word) {
			t.Errorf("%s is %d on the wire, want %d", word, got, i+1)
		}
	}
	if values := P(0).Descriptor().Values().Len(); values != len(words)+1 {
		t.Errorf("%T has %d values, want %d", P(0), values, len(words)+1)
	}
}

func TestUseWithoutResultDenies(t *testing.T) {
	got := Decode[sdk.Verdict](&pb.ToolVerdict{CallId: "1", Action: pb.VerdictAction_VERDICT_ACTION_USE})
	if got.Action != sdk.VerdictDeny || got.Reason == "" {
		t.Errorf("got %+v, want a denial with a reason", got)
	}
}

func TestUnknownHookActionContinues(t *testing.T) {
	for _, word := range []string{"", "continue", "dance"} {
		if got := Decode[sdk.HookAnswer](&pb.HookResponse{Action: word}).Action; got != sdk.ActionContinue {
			t.Errorf("%q: got %s, want continue", word, got)
		}
	}
}

// TestStringsBecomeUTF8 encodes strings that protobuf refuses.
func TestStringsBecomeUTF8(t *testing.T) {
	m := Encode[pb.ExecuteStart](sdk.ExecuteRequest{Prompt: "a\xffb", Environment: map[string]string{"K\xff": "v\xff"}})
	if _, err := proto.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a\uFFFDb", m.GetPrompt()); diff != "" {
		t.Error(diff)
	}
}

// TestOutputKeepsBytes: a chunk may end inside a character.
func TestOutputKeepsBytes(t *testing.T) {
	want := sdk.OutputChunk{Stream: sdk.StreamText, Text: "\xe2\x82"}
	if diff := cmp.Diff(want, FromOutput(OutputPB(want))); diff != "" {
		t.Error(diff)
	}
}

func TestFromJSON(t *testing.T) {
	tests := map[string]struct {
		in   string
		want json.RawMessage
	}{
		"empty":     {"", nil},
		"blank":     {" \n", nil},
		"object":    {`{"a": 1}`, json.RawMessage(`{"a": 1}`)},
		"no JSON":   {`{"a":`, json.RawMessage(`"{\"a\":"`)},
		"not UTF-8": {"\xff", json.RawMessage("\"\uFFFD\"")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Decode[sdk.ToolResult](&pb.ToolResult{Result: []byte(tt.in)}).Result); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMillis(t *testing.T) {
	tests := []struct {
		in   time.Duration
		want int64
	}{
		{0, 0}, {-time.Second, 0}, {1, 1}, {time.Millisecond, 1}, {time.Millisecond + 1, 2}, {math.MaxInt64, 9223372036855},
	}
	for _, tt := range tests {
		if got := millis(tt.in); got != tt.want {
			t.Errorf("millis(%d) = %d, want %d", tt.in, got, tt.want)
		}
	}
	if got := fromMillis(math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("an overlong time is held at the largest, got %d", got)
	}
	if got := fromMillis(-5); got != 0 {
		t.Errorf("a negative time is none, got %d", got)
	}
}

func TestCountsAreHeldWithin32Bits(t *testing.T) {
	if got := Encode[pb.Progress](sdk.Progress{Turn: math.MaxInt}).GetTurn(); got != math.MaxInt32 {
		t.Errorf("got %d", got)
	}
	if got := Encode[pb.Progress](sdk.Progress{Turn: math.MinInt}).GetTurn(); got != math.MinInt32 {
		t.Errorf("got %d", got)
	}
}

// TestNumbersThatJSONCannotHold checks that NaN and infinite numbers are dropped, and that a confidence is at
// most 1.
func TestNumbersThatJSONCannotHold(t *testing.T) {
	nan := math.NaN()
	if got := Decode[sdk.Usage](&pb.Usage{CostUsd: &nan}).CostUSD; got != nil {
		t.Errorf("cost NaN: got %v, want unknown", *got)
	}
	if got := FromFailure(&pb.Failure{RetryAfterSeconds: math.Inf(1)}).RetryAfterSeconds; got != 0 {
		t.Errorf("wait: got %v, want 0", got)
	}
	if got := Decode[sdk.Decision](&pb.DecideResponse{Confidence: 7}).Confidence; got != 1 {
		t.Errorf("confidence: got %v, want 1", got)
	}
}

// AUDIT F3.
func TestImpossibleUsageIsUnknown(t *testing.T) {
	for n, known := range map[int64]bool{0: true, 1_000_000: true, maxTokens: true, maxTokens + 1: false, -1: false, math.MinInt64: false, math.MaxInt64: false} {
		got := Decode[sdk.Usage](&pb.Usage{InputTokens: &n, ReasoningTokens: &n})
		if (got.InputTokens != nil) != known || (got.ReasoningTokens != nil) != known {
			t.Errorf("%d tokens: got %+v", n, got)
		}
	}
	for cost, known := range map[float64]bool{0: true, 0.25: true, -0.25: false, math.MaxFloat64: false, math.Inf(1): false} {
		if got := Decode[sdk.Usage](&pb.Usage{CostUsd: &cost}).CostUSD; (got != nil) != known {
			t.Errorf("cost %v: got %v", cost, got)
		}
	}
}

// AUDIT F6: these texts arrive as one line.
func TestTextsOfPluginsAreOneLine(t *testing.T) {
	f := Decode[failure.Error](&pb.Failure{Kind: "provider_failed", Message: "a\nb", Hint: "c\nd", Detail: "e\nf"})
	if f.Kind != failure.ProviderFailed || f.Message != "a b" || f.Hint != "c d" || f.Detail != "e\nf" {
		t.Errorf("got %+v", f)
	}
	if f := Decode[failure.Error](&pb.Failure{Kind: "a\nError"}); f.Kind != "a Error" {
		t.Errorf("got kind %q", f.Kind)
	}
	if d := Decode[sdk.Decision](&pb.DecideResponse{Reason: "a\nb"}); d.Reason != "a b" {
		t.Errorf("got %+v", d)
	}
	if a := Decode[sdk.HookAnswer](&pb.HookResponse{Reason: "a\nb"}); a.Reason != "a b" {
		t.Errorf("got %+v", a)
	}
}

// TestEmptyFailure checks that a failure gets a kind in both directions, and a message when
// it is decoded.
func TestEmptyFailure(t *testing.T) {
	got := FromFailure(&pb.Failure{})
	if got.Kind != failure.Internal || got.Message == "" {
		t.Errorf("got %+v", got)
	}
	if got := FailurePB(&failure.Error{Message: "m"}).GetKind(); got != string(failure.Internal) {
		t.Errorf("got kind %q", got)
	}
	if FailurePB(nil) != nil || FromFailure(nil) != nil {
		t.Error("no failure became one")
	}
}

// FuzzDecode decodes arbitrary bytes as every message and converts the result in both directions.
func FuzzDecode(f *testing.F) {
	table := conversions()
	f.Add(uint8(0), []byte{})
	f.Add(uint8(5), []byte("\x0a\x06\x08\x01\x12\x02ab\x58\x01"))
	f.Fuzz(func(t *testing.T, index uint8, data []byte) {
		c := table[int(index)%len(table)]
		m := c.toWire(newNative(c)).ProtoReflect().New().Interface()
		if proto.Unmarshal(data, m) != nil {
			return
		}
		first := c.fromWire(m)
		again, err := proto.Marshal(c.toWire(first))
		if err != nil {
			t.Fatalf("%s: a decoded value cannot be sent: %v", c.name, err)
		}
		fromWire := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(again, fromWire); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, c.fromWire(fromWire)); diff != "" {
			t.Fatalf("%s: reading twice differs (-first +second):\n%s", c.name, diff)
		}
		if _, err := json.Marshal(first); err != nil {
			t.Fatalf("%s: a decoded value cannot be journaled: %v", c.name, err)
		}
	})
}

func newNative(c conversion) any {
	return reflect.New(reflect.TypeOf(c.native).Elem()).Elem().Interface()
}
