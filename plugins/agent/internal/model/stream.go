package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/tmaxmax/go-sse"
)

// maxEvent is the longest event of an answer, maxError the longest report of an error, in bytes.
const maxEvent, maxError = 32 << 20, 1 << 20

// object is a JSON object of a request.
type object = map[string]any

// withoutEmpty removes the keys whose values are empty.
func withoutEmpty(o object) object {
	maps.DeleteFunc(o, func(_ string, v any) bool { return reflect.ValueOf(v).IsZero() })
	return o
}

// service sends requests to one address.
type service struct {
	client  *http.Client
	address string
	header  http.Header
	errors  classifier
}

// newService returns a service with the key in a header of the API, and the endpoint's own headers, which take precedence.
func newService(e Endpoint, base *url.URL, client *http.Client, path string) service {
	s := service{client: client, address: e.requestBase(base) + path, header: http.Header{}, errors: newClassifier(base)}
	s.header.Set("Content-Type", "application/json")
	s.header.Set("Accept", "text/event-stream")
	keyHeader, key := "Authorization", "Bearer "+e.Key
	if e.API == Anthropic {
		keyHeader, key = "X-Api-Key", e.Key
		s.header.Set("Anthropic-Version", "2023-06-01")
	}
	if e.Key != "" {
		s.header.Set(keyHeader, key)
	}
	for name, value := range e.Headers {
		s.header.Set(name, value)
	}
	return s
}

// streamEvents sends a request and calls add with each event of the answer, in the format of server-sent events. A value
// of a wrong type counts as zero.
func streamEvents[T any](ctx context.Context, s service, request object, add func(T)) error {
	answer, err := s.send(ctx, request)
	if err != nil {
		return err
	}
	defer answer.Close()
	for e, err := range sse.Read(answer, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if strings.HasPrefix(e.Data, "[DONE]") { // the end of Chat Completions
			return nil
		}
		var event T
		var failed struct{ Error json.RawMessage }
		data := []byte(e.Data)
		if err == nil && len(data) > 0 {
			err = errors.Join(json.Unmarshal(data, &event), json.Unmarshal(data, &failed))
		}
		if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mistyped {
			return s.errors.classify(ctx, err)
		}
		if len(failed.Error) > 0 && string(failed.Error) != "null" {
			return s.errors.classifyAnswer(0, nil, data)
		}
		add(event)
	}
	return nil
}

// send returns the answer to a request that the service accepted.
func (s service) send(ctx context.Context, request object) (io.ReadCloser, error) {
	text, unreadable := json.Marshal(request)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(text))
	if err = errors.Join(unreadable, err); err != nil {
		return nil, s.errors.classify(ctx, err)
	}
	r.Header = s.header.Clone()
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, s.errors.classify(ctx, err)
	}
	if answer.StatusCode < http.StatusBadRequest {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxError))
	if err != nil {
		return nil, s.errors.classify(ctx, err)
	}
	return nil, s.errors.classifyAnswer(answer.StatusCode, answer.Header, body)
}
