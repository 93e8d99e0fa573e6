package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is an HTTP server that records its requests and answers from a list, whose last entry repeats.
type service struct {
	*httptest.Server

	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

type responder func(w http.ResponseWriter, r *http.Request)

func respondWith(code int, body string) responder {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// waitForCaller answers when the caller has closed the connection.
func waitForCaller(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func serve(t testing.TB, answers ...responder) *service {
	return startService(t, httptest.NewUnstartedServer, (*httptest.Server).Start, answers)
}

func startService(t testing.TB, create func(http.Handler) *httptest.Server, start func(*httptest.Server), answers []responder) *service {
	t.Helper()
	s := &service{}
	s.Server = create(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		n := len(s.requests)
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
		s.mu.Unlock()
		answers[min(n, len(answers)-1)](w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(s.Server)
	t.Cleanup(s.Close)
	return s
}

// calls returns the number of requests.
func (s *service) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// newTestAction returns an action that does not wait between attempts.
func newTestAction(s *service, env map[string]string) *Action {
	w := New()
	if s != nil && s.TLS != nil {
		transport := s.Client().Transport.(*http.Transport).Clone()
		transport.DisableKeepAlives = true
		w.transport = transport
	}
	w.newBackOff = func() backoff.BackOff { return &backoff.ZeroBackOff{} }
	w.lookupEnv = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	return w
}

func configJSON(url, more string) string { return fmt.Sprintf(`{"url": %q%s}`, url, more) }

// The response becomes context or an action (REQUIREMENTS U245).
func TestWebhookAnswers(t *testing.T) {
	tests := []struct {
		name, body string
		code       int
		point      sdk.HookPoint
		want       sdk.HookAnswer
	}{
		{"context of an object", `{"context": " review: fine \n", "more": 1}`, 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: "review: fine"}},
		{"a raw body", "two\nlines\n", 201, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: "two\nlines"}},
		{"an object without our keys is a raw body", `{"ok": true}`, 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: `{"ok": true}`}},
		{"a list is a raw body", `["context"]`, 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: `["context"]`}},
		{"nothing", "", 204, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionContinue}},
		{"white space", " \n", 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionContinue}},
		{"an empty context", `{"context": ""}`, 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionContinue}},
		{"context null", `{"context": null}`, 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionContinue}},
		{"context that is no text", `{"context": {"a": [1]}}`, 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: `{"a": [1]}`}},
		{"an action", `{"action": "pause", "reason": "let me see"}`, 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionPause, Reason: "let me see"}},
		{"an action with context", `{"action": "restart_stage", "context": "again"}`, 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionRestartStage, Context: "again"}},
		{"no UTF-8", "a\xffb", 200, sdk.IterationEnd, sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: "a\uFFFDb"}},
		{"the end of a session", `{"action": "pause"}`, 200, sdk.SessionEnd, sdk.HookAnswer{Action: sdk.ActionContinue}},
		{"abort at the end of a session", `{"action": "abort"}`, 200, sdk.SessionEnd, sdk.HookAnswer{Action: sdk.ActionAbort}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, respondWith(tt.code, tt.body))
			req := firingtest.Request(t, configJSON(s.URL, ""), nil)
			req.Point = tt.point
			got, err := newTestAction(s, nil).Run(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// The request has the payload, the configured headers and a signature.
func TestWebhookSends(t *testing.T) {
	s := serve(t, respondWith(200, ""))
	req := firingtest.Request(t, configJSON(s.URL+"/review?x=y", `, "headers": {"authorization": "Bearer ${TOKEN}", "X-Plain": "$5"}, "secret_env": "KEY"`), nil)
	if _, err := newTestAction(s, map[string]string{"TOKEN": "t0k", "KEY": "s3cret"}).Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(s.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"session": "auth", "node": "build", "stage": "improve", "iteration": 2.0, "provider": "claude", "point": "iteration_end",
		"status": "running", "summary": "did things", "context": "so far", "message": "look", "key": req.Key,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	mac := hmac.New(sha256.New, []byte("s3cret"))
	mac.Write([]byte(s.bodies[0]))
	r := s.requests[0]
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Idempotency-Key": req.Key, "Authorization": "Bearer t0k", "X-Plain": "$5", "User-Agent": userAgent,
		"X-Agent-Pipelines-Signature": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r.Method != http.MethodPost || r.URL.String() != "/review?x=y" {
		t.Errorf("%s %s", r.Method, r.URL)
	}
}

// Retries send the same key; only temporary errors are retried.
func TestWebhookRetries(t *testing.T) {
	cut := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	later := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	tests := []struct {
		name    string
		keys    string
		answers []responder
		calls   int
		texts   []string // nil for success
	}{
		{"a busy service", "", []responder{respondWith(503, "busy"), respondWith(200, "ok")}, 2, nil},
		{"a gateway", "", []responder{respondWith(502, ""), respondWith(504, ""), respondWith(200, "ok")}, 3, nil},
		{"too many requests", "", []responder{respondWith(429, ""), respondWith(200, "ok")}, 2, nil},
		{"a connection that broke", "", []responder{cut, respondWith(200, "ok")}, 2, nil},
		{"a service that stays busy", "", []responder{respondWith(503, "busy")}, 3, []string{"503 Service Unavailable", "3 attempts", "busy"}},
		{"none", `, "retries": 0`, []responder{respondWith(503, "busy"), respondWith(200, "ok")}, 1, []string{"503"}},
		{"more than the limit allows", "", []responder{later, respondWith(200, "ok")}, 1, []string{"503"}},
		{"a fault of the service", "", []responder{respondWith(500, "boom\x1b[31m"), respondWith(200, "ok")}, 1, []string{"500 Internal Server Error", "boom"}},
		{"a request that is refused", "", []responder{respondWith(404, ""), respondWith(200, "ok")}, 1, []string{"404"}},
		{"an answer that is too long", "", []responder{respondWith(200, strings.Repeat("x", firing.MaxContext+1))}, 1, []string{"longer than 256 KiB"}},
		{"an unknown action", "", []responder{respondWith(200, `{"action": "puase"}`)}, 1, []string{`did you mean "pause"?`}},
		{"an action that is no text", "", []responder{respondWith(200, `{"action": 3}`)}, 1, []string{"action is 3"}},
		{"a reason that is no text", "", []responder{respondWith(200, `{"action": "pause", "reason": []}`)}, 1, []string{"reason is []"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.answers...)
			answer, err := newTestAction(s, nil).Run(t.Context(), firingtest.Request(t, configJSON(s.URL, tt.keys), nil))
			if tt.texts == nil {
				if err != nil || answer.Context != "ok" {
					t.Errorf("answer %+v, error %v", answer, err)
				}
			} else {
				firingtest.CheckError(t, err, failure.HookFailed, tt.texts...)
				if !strings.HasPrefix(err.Error(), "hook_webhook_failed: ") || answer.Action != "" {
					t.Errorf("%v beside %+v", err, answer)
				}
			}
			if s.calls() != tt.calls {
				t.Errorf("asked %d times, want %d", s.calls(), tt.calls)
			}
			for i, r := range s.requests {
				if r.Header.Get("Idempotency-Key") != "hook:1/v1/r1/-/-/i2#1" || s.bodies[i] != s.bodies[0] {
					t.Errorf("try %d: key %q, body %s", i, r.Header.Get("Idempotency-Key"), s.bodies[i])
				}
			}
		})
	}
}

// A late response causes its own kind of failure, whether the service hangs or the retries exceed the limit.
func TestWebhookTimesOut(t *testing.T) {
	s := serve(t, respondWith(503, "busy"), waitForCaller)
	req := firingtest.Request(t, configJSON(s.URL, ""), nil)
	req.Timeout = 200 * time.Millisecond
	answer, err := newTestAction(s, nil).Run(t.Context(), req)
	firingtest.CheckError(t, err, failure.HookTimeout, "hook_webhook_failed: POST "+s.URL, "took longer than 200ms", "503")
	if answer.Action != "" {
		t.Errorf("answer %+v", answer)
	}
	if failure.From(err).Code() != "AP-HOOK-001" {
		t.Errorf("code %q", failure.From(err).Code())
	}
}

func TestWebhookStopped(t *testing.T) {
	s := serve(t, waitForCaller)
	for kind, end := range map[failure.Kind]func() (context.Context, context.CancelFunc){
		failure.SignalInterrupt: func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, cancel
		},
		failure.HookTimeout: func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 50*time.Millisecond)
		},
	} {
		ctx, cancel := end()
		_, err := newTestAction(s, nil).Run(ctx, firingtest.Request(t, configJSON(s.URL, ""), nil))
		cancel()
		if failure.KindOf(err) != kind {
			t.Errorf("error %v, want %s", err, kind)
		}
	}
}

func TestWebhookUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, err = newTestAction(nil, nil).Run(t.Context(), firingtest.Request(t, configJSON("http://me:pass@"+address+"/a?token=t0k", ""), nil))
	firingtest.CheckError(t, err, failure.HookFailed, "hook_webhook_failed: POST http://"+address+"/a: ", "refused", "3 attempts")
	if strings.Contains(err.Error(), "pass") || strings.Contains(err.Error(), "t0k") {
		t.Errorf("%v contains a secret", err)
	}
}

func TestWebhookInvalidCertificate(t *testing.T) {
	s := startService(t, httptest.NewUnstartedServer, (*httptest.Server).StartTLS, []responder{respondWith(200, "ok")})
	w := newTestAction(nil, nil)
	_, err := w.Run(t.Context(), firingtest.Request(t, configJSON(s.URL, ""), nil))
	firingtest.CheckError(t, err, failure.HookFailed, "certificate")
	if strings.Contains(err.Error(), "attempts") {
		t.Errorf("%v: tried again", err)
	}
}

func redirect(code int, to *string) responder {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", *to)
		w.WriteHeader(code)
	}
}

// A redirect to another host loses the signature and the configured headers.
func TestWebhookRedirects(t *testing.T) {
	const more = `, "headers": {"X-Token": "${TOKEN}"}, "secret_env": "TOKEN", "retries": 0`
	env := map[string]string{"TOKEN": "t0k"}

	t.Run("to the same host", func(t *testing.T) {
		to := "/there"
		s := serve(t, redirect(307, &to), redirect(308, &to), redirect(302, &to), respondWith(200, "ok"))
		answer, err := newTestAction(s, env).Run(t.Context(), firingtest.Request(t, configJSON(s.URL, more), nil))
		if err != nil || answer.Context != "ok" || s.calls() != 4 {
			t.Fatalf("answer %+v, error %v after %d calls", answer, err, s.calls())
		}
		last := s.requests[2]
		if last.Method != http.MethodPost || s.bodies[2] != s.bodies[0] || last.Header.Get(headerSignature) == "" || last.Header.Get("X-Token") != "t0k" {
			t.Errorf("%s with %v", last.Method, last.Header)
		}
	})
	t.Run("to another host", func(t *testing.T) {
		other := serve(t, respondWith(200, "ok"))
		s := serve(t, redirect(307, &other.URL))
		if _, err := newTestAction(s, env).Run(t.Context(), firingtest.Request(t, configJSON(s.URL, more), nil)); err != nil {
			t.Fatal(err)
		}
		h := other.requests[0].Header
		if h.Get(headerSignature) != "" || h.Get("X-Token") != "" {
			t.Errorf("another host received %v", h)
		}
		if h.Get(headerKey) == "" || h.Get(headerType) != "application/json" {
			t.Errorf("another host did not receive the headers it needs: %v", h)
		}
	})
	t.Run("to a result", func(t *testing.T) {
		to := "/result"
		s := serve(t, redirect(303, &to), respondWith(200, "ok"))
		if _, err := newTestAction(s, env).Run(t.Context(), firingtest.Request(t, configJSON(s.URL, more), nil)); err != nil {
			t.Fatal(err)
		}
		if r := s.requests[1]; r.Method != http.MethodGet || r.Header.Get(headerSignature) != "" || r.Header.Get("X-Token") != "t0k" {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
	})
	t.Run("too often", func(t *testing.T) {
		to := "/there"
		s := serve(t, redirect(307, &to))
		_, err := newTestAction(s, env).Run(t.Context(), firingtest.Request(t, configJSON(s.URL, more), nil))
		firingtest.CheckError(t, err, failure.HookFailed, "redirected more than 3 times")
		if s.calls() != 4 {
			t.Errorf("asked %d times, want 4", s.calls())
		}
	})
	t.Run("to an unprotected connection", func(t *testing.T) {
		open := serve(t, respondWith(200, "ok"))
		s := startService(t, httptest.NewUnstartedServer, (*httptest.Server).StartTLS, []responder{redirect(307, &open.URL)})
		_, err := newTestAction(s, env).Run(t.Context(), firingtest.Request(t, configJSON(s.URL, more), nil))
		firingtest.CheckError(t, err, failure.HookFailed, "redirected from https to http")
		if open.calls() != 0 {
			t.Error("it was followed")
		}
	})
}

func FuzzReadResponse(f *testing.F) {
	for _, seed := range []string{"", "text", `{"context": "a"}`, `{"action": "pause", "reason": "r"}`, `{"action": 1}`, `{"context": null}`, "\xff", `[]`, `null`, `{"context": {"a": 1}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := readResponse(body)
		if err != nil {
			if diff := cmp.Diff(sdk.HookAnswer{}, answer); diff != "" {
				t.Errorf("%v beside an answer:\n%s", err, diff)
			}
			return
		}
		if _, err := parseAction(json.RawMessage(fmt.Sprintf("%q", answer.Action))); err != nil {
			t.Error(err)
		}
		if strings.ToValidUTF8(answer.Context, "") != answer.Context || strings.TrimSpace(answer.Context) != answer.Context {
			t.Errorf("context %q", answer.Context)
		}
		if answer.Action == sdk.ActionModifyContext && answer.Context == "" && !strings.Contains(string(body), "action") {
			t.Errorf("%q injects nothing", body)
		}
	})
}

func TestWebhookConforms(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "mind the gap")
	}))
	defer server.Close()
	plugintest.HookAction(t, plugintest.HookActionConfig{
		New:    func(testing.TB) sdk.HookAction { return New() },
		Config: json.RawMessage(`{"url": "` + server.URL + `", "retries": 0}`),
		Cases: []plugintest.HookCase{
			{Name: "a text", Request: sdk.HookRequest{Point: sdk.StageEnd}, Want: sdk.ActionModifyContext},
			{Name: "a text at the end of the session", Request: sdk.HookRequest{Point: sdk.SessionEnd}},
		},
		Refused: firingtest.Configs(`{}`, `{"url": "ftp://x"}`, `{"url": "http://x", "secret_env": "NOT_SET_ANYWHERE"}`),
	})
}
