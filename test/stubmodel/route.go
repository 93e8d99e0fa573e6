package stubmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ServeHTTP answers a request. It records all requests except those to control routes.
//
// A path may begin with /s/<script>, which chooses the script. Without this prefix the script is "default". The end
// of the path determines the answer:
//
//	POST /v1/messages               Anthropic Messages, streamed or whole, answered by the next turn
//	POST /v1/messages/count_tokens  a quarter of the body's length
//	POST /responses                 OpenAI Responses, streamed
//	POST /chat/completions          OpenAI Chat Completions, streamed
//	GET  /responses                 426 to a client that wants a WebSocket, so that it continues with POST
//	GET  /models                    an empty list
//	GET, HEAD /                     200
//	PUT  /__stub/script/<name>      loads a script and resets its turns
//	GET  /__stub/requests           the recorded requests; ?script=<name> for those of one script
//
// Every other request is answered 404 and recorded with a fault, so that a test finds an unexpected call. An
// expectation that is not met and a turn that the API cannot express are also faults. The agent receives the reason
// as an error of its API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, controlPrefix) {
		s.control.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	script, path := splitPath(r.URL.Path)
	v := &visit{server: s, w: w, r: r, body: body, api: messagesAPI}
	v.entry = s.ledger.add(Request{
		Script: script, Method: r.Method, Path: r.URL.RequestURI(), Headers: r.Header.Clone(), Body: asJSON(body),
	})
	if err != nil {
		v.refuse(http.StatusBadRequest, fmt.Errorf("read body: %w", err))
		return
	}
	v.route(path)
}

// route answers a request by its method and the end of its path.
func (v *visit) route(path string) {
	is := func(method, end string) bool {
		return v.r.Method == method && strings.HasSuffix(path, end)
	}
	switch {
	case is(http.MethodPost, "/v1/messages"):
		v.converse(messagesAPI)
	case is(http.MethodPost, "/v1/messages/count_tokens"):
		v.writeJSON(http.StatusOK, map[string]int{"input_tokens": len(v.body) / 4})
	case is(http.MethodPost, "/responses"):
		v.converse(responsesAPI)
	case is(http.MethodGet, "/responses") && strings.EqualFold(v.r.Header.Get("Upgrade"), "websocket"):
		v.w.WriteHeader(http.StatusUpgradeRequired) // the agent then falls back to POST
	case is(http.MethodPost, "/chat/completions"):
		v.converse(chatAPI)
	case is(http.MethodGet, "/models"):
		v.writeJSON(http.StatusOK, map[string]any{"object": "list", "data": []any{}, "models": []any{}})
	case strings.Trim(path, "/") == "" && (v.r.Method == http.MethodGet || v.r.Method == http.MethodHead):
		v.w.WriteHeader(http.StatusOK)
	default:
		v.refuse(http.StatusNotFound, fmt.Errorf("unexpected request %s %s", v.r.Method, path))
	}
}

// converse answers a request with the next turn of its script.
func (v *visit) converse(api api) {
	v.api = api
	in, err := api.read(v.body)
	if err != nil {
		v.refuse(http.StatusBadRequest, err)
		return
	}
	v.note(func(e *Request) { e.Model, e.Prompt = in.model, in.prompt })
	script, err := v.server.script(v.entry.Script)
	if err != nil {
		v.refuse(http.StatusNotFound, err)
		return
	}
	chosen, err := script.next(in)
	v.note(func(e *Request) { e.Side, e.Turn = chosen.side, chosen.number })
	if err != nil {
		v.refuse(http.StatusBadRequest, err)
		return
	}
	v.play(answer{number: v.entry.N, in: in, turn: chosen.turn})
}

// splitPath returns the script's name in a path and the rest of the path.
func splitPath(path string) (script, rest string) {
	named, ok := strings.CutPrefix(path, scriptPrefix)
	if !ok {
		return defaultScript, path
	}
	script, rest, _ = strings.Cut(named, "/")
	return script, "/" + rest
}

// asJSON returns the body for the record: unchanged if it is empty or JSON, else as a JSON string.
func asJSON(body []byte) json.RawMessage {
	if len(body) == 0 || json.Valid(body) {
		return body
	}
	return mustMarshal(string(body))
}

var (
	messagesAPI  api = anthropic{}
	responsesAPI api = responses{}
	chatAPI      api = chat{}
)
