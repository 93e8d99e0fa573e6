package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// rawCodec is a codec that sends bytes as messages, so that a message can be invalid.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

// Name implements encoding.CodecV2. The other end decodes the bytes as protocol buffers.
func (rawCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("no bytes: %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("no bytes: %T", v)
	}
	*b = data.Materialize()
	return nil
}

func forceBare() grpc.CallOption { return grpc.ForceCodecV2(rawCodec{}) }

// methods are the unary methods of all services.
var methods = []string{
	pb.Plugin_Describe_FullMethodName, pb.Plugin_Init_FullMethodName, pb.Plugin_Validate_FullMethodName, pb.Plugin_Examine_FullMethodName, pb.Plugin_Health_FullMethodName,
	pb.Termination_Decide_FullMethodName, pb.Termination_Release_FullMethodName, pb.HookAction_Run_FullMethodName,
}

// checkGarbage sends invalid messages, and messages with unknown content.
func checkGarbage(ctx context.Context, t *trial, _ sdk.Component) finding {
	const do = "catch decoding errors; ignore unknown fields, enum values and messages"
	s, err := t.sharedSession(ctx)
	if err != nil {
		return noProcess(err)
	}
	for _, method := range methods {
		for name, message := range oddMessages() {
			s.send(ctx, method, message)
			if err := s.alive(ctx); err != nil {
				return fail(do, "after %s to %s: %s", name, method, shorten(err.Error()))
			}
		}
	}
	for name, message := range oddMessages() {
		s.stream(ctx, message)
		if err := s.alive(ctx); err != nil {
			return fail(do, "after %s to %s: %s", name, pb.Provider_Execute_FullMethodName, shorten(err.Error()))
		}
	}
	for _, c := range t.description.Components {
		if f := s.ignoresUnknown(ctx, t, c); f != nil {
			return *f
		}
	}
	return pass("%d methods, %d kinds of garbage", len(methods)+1, len(oddMessages()))
}

// oddMessages returns messages by description. None names an existing component, so that none
// starts work.
func oddMessages() map[string][]byte {
	odd := map[string][]byte{"an empty request": {}}
	source := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a constant seed: every plugin gets the same garbage
	for i, size := range []int{1, 64, 4096} {
		random := make([]byte, size)
		for i := range random {
			random[i] = byte(source.Uint32())
		}
		odd[fmt.Sprintf("%d random bytes", len(random))] = random
		odd[fmt.Sprintf("a broken field (%d)", i)] = append([]byte{0x0a, 0xff, 0x01}, random...)
	}
	stranger, err := proto.Marshal(&pb.InitRequest{Component: &pb.ComponentRef{Kind: 99, Name: "stranger"}})
	if err == nil {
		odd["an unknown enum value and an unknown field"] = withUnknown(stranger)
	}
	return odd
}

// withUnknown adds fields with unknown numbers.
func withUnknown(message []byte) []byte {
	message = protowire.AppendTag(message, 9001, protowire.BytesType)
	message = protowire.AppendString(message, "from a later version")
	message = protowire.AppendTag(message, 9002, protowire.VarintType)
	return protowire.AppendVarint(message, 1)
}

// send makes a unary call and ignores the answer.
func (s *session) send(ctx context.Context, method string, message []byte) {
	ctx, cancel := withTimeout(ctx, slack)
	defer cancel()
	var response []byte
	_ = s.conn.Invoke(ctx, method, message, &response, forceBare())
}

// stream runs an attempt of one message and ignores the answer.
func (s *session) stream(ctx context.Context, message []byte) {
	ctx, cancel := withTimeout(ctx, slack)
	defer cancel()
	stream, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		pb.Provider_Execute_FullMethodName, forceBare())
	if err != nil {
		return
	}
	_ = stream.SendMsg(message)
	_ = stream.CloseSend()
	for {
		var event []byte
		if stream.RecvMsg(&event) != nil {
			return
		}
	}
}

// ignoresUnknown compares the answers with and without unknown fields. Nil means that they are
// equal.
func (s *session) ignoresUnknown(ctx context.Context, t *trial, c sdk.Component) *finding {
	const do = "ignore unknown fields: a later kernel sends more"
	model, config, _ := t.opts.Cases.settings(c)
	want, err := s.validate(ctx, c, model, config)
	if err != nil {
		f := fail(do, "Validate of %s: %s", label(c), s.explain(ctx, err))
		return &f
	}
	request, err := proto.Marshal(&pb.ValidateRequest{Component: ref(c), Model: model, Config: config})
	if err != nil {
		f := noProcess(err)
		return &f
	}
	limited, cancel := withTimeout(ctx, callLimit)
	defer cancel()
	var response []byte
	err = s.conn.Invoke(limited, pb.Plugin_Validate_FullMethodName, withUnknown(request), &response, forceBare())
	var got pb.ValidateResponse
	if err == nil {
		err = proto.Unmarshal(response, &got)
	}
	switch {
	case err != nil:
		f := fail(do, "Validate of %s with unknown fields: %s", label(c), s.explain(ctx, err))
		return &f
	case got.GetFailure().GetKind() != want.GetKind():
		f := fail(do, "Validate of %s answers %q, with unknown fields %q", label(c), want.GetKind(), got.GetFailure().GetKind())
		return &f
	}
	return nil
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}
