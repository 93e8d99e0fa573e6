package stubmodel

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// play answers with a turn of the script: with its message, its error, or no answer.
func (v *visit) play(message answer) {
	turn, stream := message.turn, message.in.stream
	for name, value := range turn.Headers {
		v.w.Header().Set(name, value)
	}
	switch {
	case turn.Status != 0:
		v.writeFault(turn.fault(turn.Status))
	case turn.Hang:
		v.hang(stream)
	case stream:
		v.stream(message)
	case turn.MidStream:
		v.writeFault(turn.fault(http.StatusInternalServerError))
	default:
		v.complete(message)
	}
}

// stream sends the events of a message, all or up to the break that the turn requires.
func (v *visit) stream(message answer) {
	turn := message.turn
	frames := v.api.stream(message)
	broken := turn.MidStream || turn.CutAfter > 0
	if broken {
		frames = frames[:min(turn.CutAfter, uint(len(frames)))]
	}
	if turn.MidStream {
		f := turn.fault(http.StatusInternalServerError)
		f.id, f.broken, f.sent = v.requestID(), message, len(frames)
		_, last := v.api.fault(f)
		frames = append(frames, last)
	}
	v.begin(true)
	for _, f := range frames {
		if v.send(f) != nil {
			return // the client is gone
		}
	}
	if broken && !turn.MidStream {
		panic(http.ErrAbortHandler)
	}
}

// send writes and flushes one event.
func (v *visit) send(f frame) error {
	name := ""
	if f.event != "" {
		name = "event: " + f.event + "\n"
	}
	if _, err := fmt.Fprintf(v.w, "%sdata: %s\n\n", name, f.payload()); err != nil {
		return err
	}
	return http.NewResponseController(v.w).Flush()
}

// complete sends a message as one body. For a turn with CutAfter it sends half of the body.
func (v *visit) complete(message answer) {
	body, err := []byte(nil), errors.New("this API is answered in a stream only")
	if v.api == messagesAPI {
		body, err = anthropic{}.complete(message)
	}
	if err != nil {
		v.refuse(http.StatusBadRequest, err)
		return
	}
	v.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.begin(false)
	if message.turn.CutAfter == 0 {
		_, _ = v.w.Write(body) // an error means that the client has gone
		return
	}
	_, _ = v.w.Write(body[:len(body)/2])
	_ = http.NewResponseController(v.w).Flush()
	panic(http.ErrAbortHandler)
}

// hang sends the headers and then waits until the client goes or the server stops.
func (v *visit) hang(stream bool) {
	v.begin(stream)
	_ = http.NewResponseController(v.w).Flush()
	select {
	case <-v.r.Context().Done():
	case <-v.server.stopping:
	}
}

// begin sends the headers of an answer with status 200.
func (v *visit) begin(stream bool) {
	kind := "application/json"
	if stream {
		kind = "text/event-stream"
	}
	v.w.Header().Set("Content-Type", kind)
	v.setRequestID()
	v.w.WriteHeader(http.StatusOK)
}

func (v *visit) writeFault(f fault) {
	f.id = v.requestID()
	body, _ := v.api.fault(f)
	v.writeJSON(f.status, body)
}

func (v *visit) writeJSON(status int, value any) {
	v.w.Header().Set("Content-Type", "application/json")
	v.setRequestID()
	v.w.WriteHeader(status)
	_, _ = v.w.Write(mustMarshal(value)) // an error means that the client has gone
}

func (v *visit) requestID() string { return fmt.Sprintf("req_stub_%d", v.entry.N) }

// setRequestID sets the header of each API that has the id of the request.
func (v *visit) setRequestID() {
	v.w.Header().Set("Request-Id", v.requestID())
	v.w.Header().Set("X-Request-Id", v.requestID())
}

// fault returns the error that the turn describes.
func (t Turn) fault(status int) fault {
	return fault{status: status, kind: t.ErrorType, message: cmp.Or(t.ErrorMessage, "scripted error")}
}

// refuse answers an unexpected request with an error and records the reason. If the API is unknown, the error has the
// form of the Messages API.
func (v *visit) refuse(status int, why error) {
	v.note(func(e *Request) { e.Fault = why.Error() })
	v.writeFault(fault{status: status, message: "stub model server: " + why.Error()})
}

// note changes the record of this request.
func (v *visit) note(change func(*Request)) { v.server.ledger.update(v.entry, change) }
