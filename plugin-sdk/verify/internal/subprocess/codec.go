package subprocess

import (
	"fmt"
	"math/rand/v2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

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
		return nil, fmt.Errorf("cannot marshal %T: want []byte", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot unmarshal into %T: want *[]byte", v)
	}
	*b = data.Materialize()
	return nil
}

// SendRaw returns a call option that sends the bytes of a message as they are.
func SendRaw() grpc.CallOption { return grpc.ForceCodecV2(rawCodec{}) }

// InvalidMessages returns messages by description. None names an existing component, so that none
// starts work.
func InvalidMessages() map[string][]byte {
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
		odd["an unknown enum value and an unknown field"] = WithUnknownFields(stranger)
	}
	return odd
}

// WithUnknownFields adds fields with unknown numbers to a message.
func WithUnknownFields(message []byte) []byte {
	message = protowire.AppendTag(message, 9001, protowire.BytesType)
	message = protowire.AppendString(message, "from a later version")
	message = protowire.AppendTag(message, 9002, protowire.VarintType)
	return protowire.AppendVarint(message, 1)
}
