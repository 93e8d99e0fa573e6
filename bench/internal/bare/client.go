package bare

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Client calls a server. It is safe for concurrent use; the caller closes it.
type Client struct{ conn *grpc.ClientConn }

// Dial returns a client of the server on the Unix socket. The first call connects.
func Dial(socket string) (*Client, error) {
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", socket, err)
	}
	return &Client{conn}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Unary sends a request and waits for the answer.
func (c *Client) Unary(ctx context.Context, request []byte) error {
	return c.conn.Invoke(ctx, unary, wrapperspb.Bytes(request), &wrapperspb.BytesValue{})
}

// Stream runs the messages of a short attempt: it opens a stream, sends a request, receives two
// messages, closes its side and waits for the end.
func (c *Client) Stream(ctx context.Context, request []byte) error {
	s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, stream)
	if err != nil {
		return err
	}
	if err := s.SendMsg(wrapperspb.Bytes(request)); err != nil {
		return err
	}
	for range 2 {
		if err := s.RecvMsg(&wrapperspb.BytesValue{}); err != nil {
			return err
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	if err := s.RecvMsg(&wrapperspb.BytesValue{}); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("the stream did not end"), err)
	}
	return nil
}
