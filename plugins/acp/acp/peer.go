package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	protocol "github.com/coder/acp-go-sdk"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// errGone is the error of a call after the agent has closed its stdout.
var errGone = errors.New("the agent has closed its output")

// message is a line of JSON-RPC 2.0.
type message struct {
	Version string                 `json:"jsonrpc"`
	ID      json.RawMessage        `json:"id,omitempty"`
	Method  string                 `json:"method,omitempty"`
	Params  json.RawMessage        `json:"params,omitempty"`
	Result  json.RawMessage        `json:"result,omitempty"`
	Error   *protocol.RequestError `json:"error,omitempty"`
}

// peer is one end of a JSON-RPC connection with one message per line. [peer.handleLine] handles notifications and
// requests in the order of their arrival; answers are made concurrently. A peer is safe for concurrent use.
type peer struct {
	// onNotification handles a notification. handleLine returns only after it.
	onNotification func(method string, params json.RawMessage)
	// onRequest handles a request in the same way and returns the function that makes the answer; that function may
	// block. A nil function means that there is no such method.
	onRequest func(method string, params json.RawMessage) func() any

	mu       sync.Mutex // guards:
	out      io.Writer
	lastID   int
	waiting  map[string]chan message
	received bool

	answers sync.WaitGroup
}

// attach sets the writer for messages.
func (p *peer) attach(out io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = out
}

// hasReceived reports whether the other end wrote any message.
func (p *peer) hasReceived() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.received
}

// handleLine handles a line of the other end. Lines that are not messages are ignored, because agents sometimes log to
// stdout.
func (p *peer) handleLine(line []byte) {
	m, ok := parseMessage(line)
	if !ok {
		return
	}
	p.mu.Lock()
	p.received = true
	p.mu.Unlock()
	switch {
	case m.Method == "":
		p.deliver(m)
	case len(m.ID) == 0:
		p.onNotification(m.Method, m.Params)
	default:
		answer := p.onRequest(m.Method, m.Params)
		p.answers.Go(func() { p.reply(m, answer) })
	}
}

// parseMessage parses a message: an object that calls a method or answers a call.
func parseMessage(line []byte) (message, bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return message{}, false
	}
	var m message
	if json.Unmarshal(line, &m) != nil {
		return message{}, false
	}
	if bytes.Equal(m.ID, []byte("null")) {
		m.ID = nil
	}
	return m, m.Method != "" || len(m.ID) > 0
}

// deliver passes an answer to the waiting call.
func (p *peer) deliver(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to, ok := p.waiting[string(m.ID)]; ok {
		delete(p.waiting, string(m.ID))
		to <- m // the channel has a buffer of one message
	}
}

func (p *peer) reply(m message, answer func() any) {
	reply := message{ID: m.ID}
	var err error
	if answer == nil {
		reply.Error = protocol.NewMethodNotFound(m.Method)
	} else if reply.Result, err = json.Marshal(answer()); err != nil {
		reply.Error = protocol.NewInternalError(err.Error())
	}
	_ = p.write(reply) // the other end may be gone
}

// call sends a request and decodes its answer into result, which may be nil. It waits until there is an answer, ctx ends,
// or over is closed. A refusal is a *protocol.RequestError.
func (p *peer) call(ctx context.Context, over <-chan struct{}, method string, params, result any) error {
	answer, err := p.send(method, params)
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		return m.decodeResult(result)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-over:
	}
	select { // the answer may have arrived just before
	case m := <-answer:
		return m.decodeResult(result)
	default:
		return errGone
	}
}

// send sends a request and returns the channel of its answer.
func (p *peer) send(method string, params any) (<-chan message, error) {
	answer := make(chan message, 1)
	p.mu.Lock()
	p.lastID++
	id := strconv.Itoa(p.lastID)
	if p.waiting == nil {
		p.waiting = map[string]chan message{}
	}
	p.waiting[id] = answer
	p.mu.Unlock()
	return answer, p.sendCall(method, params, json.RawMessage(id))
}

// sendCall sends a message that calls a method; without an id it has no answer.
func (p *peer) sendCall(method string, params any, id json.RawMessage) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return p.write(message{ID: id, Method: method, Params: raw})
}

func (p *peer) write(m message) error {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	out := p.out
	p.mu.Unlock()
	if out == nil {
		return errGone
	}
	_, err = out.Write(append(line, '\n'))
	return err
}

// decodeResult decodes the result of an answer. Without a result it leaves the value unchanged.
func (m message) decodeResult(result any) error {
	if m.Error != nil {
		return m.Error
	}
	if result == nil || len(m.Result) == 0 {
		return nil
	}
	if !cliagent.DecodeEvent(m.Result, result) {
		return fmt.Errorf("cannot decode the answer: %.100s", m.Result)
	}
	return nil
}
