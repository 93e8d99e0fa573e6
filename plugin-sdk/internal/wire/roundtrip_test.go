package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// testRef is the component of every request in these tests.
func testRef() Ref { return Ref{Kind: sdk.KindTermination, Name: "name"} }

// A conversion is a pair of functions as closures, so that all pairs fit in one table.
type conversion struct {
	name string
	// native is a pointer to the SDK's type. The closures convert values of this type to the wire and back.
	native   any
	toWire   func(native any) proto.Message
	fromWire func(m proto.Message) any
}

func newConversion[S, M any](name string, toWire func(S) *M, fromWire func(*M) S) conversion {
	return conversion{
		name:     name,
		native:   new(S),
		toWire:   func(v any) proto.Message { return any(toWire(v.(S))).(proto.Message) },
		fromWire: func(m proto.Message) any { return fromWire(any(m).(*M)) },
	}
}

// value returns the conversion of a type, and request the conversion of a request to a component.
func value[S, M any](name string) conversion {
	return newConversion(name, func(v S) *M { return Encode[M](v) }, decode[S, M])
}

func request[S, M any](name string) conversion {
	return newConversion(name, func(v S) *M { return Request[M](testRef(), v) }, decode[S, M])
}

func decode[S, M any](m *M) S { return Decode[S](any(m).(proto.Message)) }

func conversions() []conversion {
	return []conversion{
		value[Ref, pb.ComponentRef]("ref"),
		value[sdk.Description, pb.DescribeResponse]("description"),
		request[sdk.InitRequest, pb.InitRequest]("init"),
		request[sdk.ValidateRequest, pb.ValidateRequest]("validate"),
		request[sdk.ValidateRequest, pb.ExamineRequest]("examine"),
		value[sdk.Finding, pb.Finding]("finding"),
		value[failure.Error, pb.Failure]("failure"),
		request[sdk.ExecuteRequest, pb.ExecuteStart]("start"),
		newConversion("result", ResultPB, FromResult),
		newConversion("output", OutputPB, FromOutput),
		value[sdk.Progress, pb.Progress]("progress"),
		value[sdk.ToolCall, pb.ToolCall]("call"),
		newConversion("tool result", func(r sdk.ToolResult) *pb.ToolResult { return ToolResultPB(r, true) }, decode[sdk.ToolResult]),
		value[sdk.Verdict, pb.ToolVerdict]("verdict"),
		value[sdk.Checkpoint, pb.Checkpoint]("checkpoint"),
		value[sdk.Usage, pb.Usage]("usage"),
		request[sdk.DecideRequest, pb.DecideRequest]("decide"),
		value[sdk.Decision, pb.DecideResponse]("decision"),
		request[sdk.HookRequest, pb.HookRequest]("hook"),
		value[sdk.HookAnswer, pb.HookResponse]("answer"),
	}
}

// TestNativeRoundTrip fills every field of every SDK type to find fields that a conversion drops.
func TestNativeRoundTrip(t *testing.T) {
	for _, c := range conversions() {
		t.Run(c.name, func(t *testing.T) {
			filler := &filler{t: t}
			filler.native(reflect.ValueOf(c.native).Elem())
			want := reflect.ValueOf(c.native).Elem().Interface()
			wired, err := proto.Marshal(c.toWire(want))
			if err != nil {
				t.Fatal(err)
			}
			m := c.toWire(want).ProtoReflect().New().Interface()
			if err := proto.Unmarshal(wired, m); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, c.fromWire(m)); diff != "" {
				t.Errorf("a field is lost on the wire (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWireRoundTrip fills every field of every message to find fields that are not decoded.
func TestWireRoundTrip(t *testing.T) {
	for _, c := range conversions() {
		t.Run(c.name, func(t *testing.T) {
			want := c.toWire(newNative(c)).ProtoReflect().New()
			filler := &filler{t: t}
			filler.message(want)
			got := c.toWire(c.fromWire(want.Interface()))
			if diff := cmp.Diff(want.Interface(), got, protocmp.Transform()); diff != "" {
				t.Errorf("a field of the message is not converted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryMessageIsConverted checks that every message of the protocol is in the table, part of a
// message in it, or listed here with the reason.
func TestEveryMessageIsConverted(t *testing.T) {
	seen := map[protoreflect.FullName]bool{}
	for _, m := range []proto.Message{
		// These messages have no fields besides the component, the session or a failure.
		&pb.DescribeRequest{}, &pb.InitResponse{}, &pb.ValidateResponse{}, &pb.HealthRequest{}, &pb.HealthResponse{},
		&pb.ShutdownRequest{}, &pb.ShutdownResponse{}, &pb.ReleaseRequest{}, &pb.ReleaseResponse{}, &pb.Heartbeat{},
		// This message has only a list and a failure.
		&pb.ExamineResponse{},
		// These messages belong to the stream: two have one field each, and two are unions.
		&pb.Cancel{}, &pb.CheckpointStored{}, &pb.ExecuteInput{}, &pb.ExecuteEvent{},
	} {
		seen[m.ProtoReflect().Descriptor().FullName()] = true
	}
	for _, c := range conversions() {
		note(seen, c.toWire(newNative(c)).ProtoReflect().Descriptor())
	}
	messages := pb.File_agentpipelines_plugin_v1_plugin_proto.Messages()
	for i := range messages.Len() {
		if name := messages.Get(i).FullName(); !seen[name] {
			t.Errorf("message %s has no conversion in the table", name)
		}
	}
}

func note(seen map[protoreflect.FullName]bool, d protoreflect.MessageDescriptor) {
	if seen[d.FullName()] {
		return
	}
	seen[d.FullName()] = true
	for i := range d.Fields().Len() {
		if m := d.Fields().Get(i).Message(); m != nil {
			note(seen, m)
		}
	}
}

// filler sets every field to a different value that is not zero.
type filler struct {
	t *testing.T
	n int64
}

func (f *filler) next() int64 { f.n++; return f.n }

// native fills a value of an SDK type.
func (f *filler) native(v reflect.Value) {
	n := f.next()
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, n))
		return
	case time.Duration:
		v.SetInt(n * int64(time.Millisecond))
		return
	}
	if word, ok := words[v.Type()]; ok {
		v.SetString(word)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(n)
	case reflect.Float64:
		v.SetFloat(1 / float64(n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.native(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.native(v.Index(i))
		}
	case reflect.Uint8:
		v.SetUint(uint64(n % 200))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"KEY": fmt.Sprint(n), "OTHER": "value"}))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() == reflect.TypeFor[failure.Error]() && v.Type().Field(i).Name == "Cause" {
				continue // Cause is not sent
			}
			f.native(v.Field(i))
		}
	default:
		f.t.Fatalf("the filler does not know %s; teach it", v.Type())
	}
}

// words holds one value of each enumeration, never the fallback of unknown values.
var words = map[reflect.Type]string{
	reflect.TypeFor[sdk.Kind]():           string(sdk.KindHookAction),
	reflect.TypeFor[sdk.Concurrency]():    string(sdk.ConcurrencySerial),
	reflect.TypeFor[sdk.Locality]():       string(sdk.LocalityLocal),
	reflect.TypeFor[sdk.ModelChoice]():    string(sdk.ModelsConfigurable),
	reflect.TypeFor[sdk.Reporting]():      string(sdk.ReportsAlways),
	reflect.TypeFor[sdk.Purpose]():        string(sdk.PurposeQuestion),
	reflect.TypeFor[sdk.Stream]():         string(sdk.StreamRaw),
	reflect.TypeFor[sdk.Effect]():         string(sdk.EffectNone),
	reflect.TypeFor[sdk.ToolStatus]():     string(sdk.ToolTimeout),
	reflect.TypeFor[sdk.VerdictAction]():  string(sdk.VerdictUse),
	reflect.TypeFor[sdk.Outcome]():        string(sdk.OutcomeEmpty),
	reflect.TypeFor[sdk.DecisionAction](): string(sdk.DecisionAsk),
	reflect.TypeFor[sdk.Action]():         string(sdk.ActionPause),
}

// message fills a message of the wire.
func (f *filler) message(m protoreflect.Message) {
	if m.Descriptor().FullName() == "agentpipelines.plugin.v1.ComponentRef" {
		proto.Merge(m.Interface(), Encode[pb.ComponentRef](testRef()))
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		d := fields.Get(i)
		switch {
		case d.Name() == "failure" && m.Descriptor().Name() != "ExecuteResult":
			// Package serve sets the failure, not a conversion.
		case d.IsMap():
			m.Mutable(d).Map().Set(protoreflect.ValueOfString("KEY").MapKey(), protoreflect.ValueOfString("value"))
		case d.IsList() && d.Message() != nil:
			f.message(m.Mutable(d).List().AppendMutable().Message())
		case d.IsList():
			m.Mutable(d).List().Append(f.scalar(d))
		case d.Message() != nil:
			f.message(m.Mutable(d).Message())
		default:
			m.Set(d, f.scalar(d))
		}
	}
}

// scalar returns a value that is not zero. Only Observed gets the value that the conversion of its message sets.
func (f *filler) scalar(d protoreflect.FieldDescriptor) protoreflect.Value {
	n := f.next()
	switch {
	case d.FullName() == "agentpipelines.plugin.v1.ToolResult.observed":
		top := f.t.Name() == "TestWireRoundTrip/tool_result"
		return protoreflect.ValueOfBool(top)
	case d.FullName() == "agentpipelines.plugin.v1.HookResponse.action":
		return protoreflect.ValueOfString(string(sdk.ActionAbort))
	}
	switch d.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("text %d", n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(fmt.Appendf(nil, `[%d]`, n))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(n)) //nolint:gosec // small
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(1 / float64(n))
	case protoreflect.EnumKind:
		values := d.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(values.Len() - 1).Number())
	default:
		f.t.Fatalf("the filler does not know %s; teach it", d.Kind())
		return protoreflect.Value{}
	}
}

// U228: the traceparent is sent in the call's metadata; an invalid or duplicate traceparent is
// ignored.
func TestTraceParent(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	sent, _ := metadata.FromOutgoingContext(Outgoing(sdk.WithTraceParent(t.Context(), parent)))
	for _, tt := range []struct {
		name string
		md   metadata.MD
		want string
	}{
		{"sent", sent, parent},
		{"named as W3C does", metadata.Pairs("traceparent", parent), parent},
		{"none", nil, ""},
		{"nonsense", metadata.Pairs("traceparent", "x"), ""},
		{"twice", metadata.Pairs("traceparent", parent, "traceparent", parent), ""},
	} {
		if got := sdk.TraceParent(Incoming(metadata.NewIncomingContext(t.Context(), tt.md))); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, has := metadata.FromOutgoingContext(Outgoing(t.Context())); has {
		t.Error("a call of no trace has metadata")
	}
}
