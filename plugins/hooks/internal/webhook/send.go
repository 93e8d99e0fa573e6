package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// maxRedirects is the number of redirects that one request follows.
const maxRedirects = 3

// maxErrorBody is the number of bytes that are kept of the body of an error response.
const maxErrorBody = 2 << 10

var (
	errTooLong          = fmt.Errorf("the response is longer than %d KiB", firing.MaxContext>>10)
	errInsecure         = errors.New("redirected from https to http")
	errTooManyRedirects = fmt.Errorf("redirected more than %d times", maxRedirects)
)

// send posts the message, with retries, within the limit and returns the response body.
func (w *Action) send(ctx context.Context, m message, retries int, limit time.Duration) ([]byte, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client := &http.Client{Transport: w.transport, CheckRedirect: checkRedirect}
	attempts := 0
	var last error // of an attempt that the limit did not end
	body, err := backoff.Retry(within, func() ([]byte, error) {
		attempts++
		body, err := post(within, client, m)
		if err != nil && within.Err() == nil {
			last = err
		}
		return body, err
	}, backoff.WithBackOff(w.newBackOff()), backoff.WithMaxTries(uint(retries)+1), backoff.WithMaxElapsedTime(limit)) //nolint:gosec // at most maxRetries
	switch {
	case err == nil:
		return body, nil
	case ctx.Err() != nil:
		return nil, firing.StopError(ctx, failurePrefix+"POST "+m.String())
	case within.Err() != nil:
		f := firing.TimeoutError(failurePrefix+"POST "+m.String(), limit)
		if last != nil {
			f = f.WithDetail("before that: " + last.Error())
		}
		return nil, f
	}
	return nil, addHint(m.newFailure(err), err, attempts)
}

// addHint adds the number of attempts and a hint to the failure.
func addHint(f *failure.Error, err error, attempts int) *failure.Error {
	if attempts > 1 {
		f.Message += fmt.Sprintf(" (%d attempts)", attempts)
	}
	var status *statusError
	switch {
	case errors.As(err, &status):
		return f.WithDetail(status.body).WithHint("read the response of the service, or continue the run without it with on_error: continue")
	case errors.Is(err, errTooLong):
		return f.WithHint("shorten the response of the service; the agents read it as context")
	default:
		return f.WithHint("check the url and that the service runs, or continue the run without it with on_error: continue")
	}
}

// post makes one attempt. Errors that a retry cannot resolve are permanent.
func post(ctx context.Context, client *http.Client, m message) ([]byte, error) {
	r, err := m.request(ctx)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, requestError(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, newStatusError(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, firing.MaxContext+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the response: %w", err)
	case len(body) > firing.MaxContext:
		return nil, backoff.Permanent(errTooLong)
	}
	return body, nil
}

// requestError removes the address, which may hold a secret, from the error, and makes an error permanent that no
// retry can resolve.
func requestError(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) || errors.Is(err, errInsecure) || errors.Is(err, errTooManyRedirects) {
		return backoff.Permanent(err)
	}
	return err
}

// statusError is a response without success.
type statusError struct {
	status     string
	body       string // at most maxErrorBody
	retryAfter error  // a backoff.RetryAfterError, or nil
}

func (e *statusError) Error() string { return e.status }
func (e *statusError) Unwrap() error { return e.retryAfter }

// newStatusError returns the error of a response without success. It is permanent unless the service is busy or
// unavailable.
func newStatusError(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // an incomplete body is enough
	e := &statusError{status: resp.Status, body: firing.PlainText(text)}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		const day = 24 * 60 * 60
		if s, err := strconv.Atoi(strings.TrimSpace(resp.Header.Get("Retry-After"))); err == nil && s > 0 {
			e.retryAfter = backoff.RetryAfter(min(s, day))
		}
		return e
	default:
		return backoff.Permanent(e)
	}
}

// checkRedirect follows at most [maxRedirects] redirects and none from https to http. Another host gets no signature
// and no configured header except User-Agent; a request without a body has no signature.
func checkRedirect(r *http.Request, via []*http.Request) error {
	first, last := via[0], via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return errTooManyRedirects
	case last.URL.Scheme == "https" && r.URL.Scheme != "https":
		return errInsecure
	}
	if r.URL.Host != first.URL.Host {
		for name := range r.Header {
			if name != headerType && name != headerKey && name != headerAgent {
				r.Header.Del(name)
			}
		}
	}
	if r.Method != http.MethodPost {
		r.Header.Del(headerSignature)
	}
	return nil
}

// Action is the hook action webhook. Use [New]. It is safe for concurrent use.
type Action struct {
	lookupEnv  func(name string) (string, bool)
	transport  http.RoundTripper
	newBackOff func() backoff.BackOff // of the wait between attempts
}

// defaultLimit is the time limit of a webhook whose hook sets no timeout.
const defaultLimit = time.Minute

// New returns the action. It uses the environment of the process, including its proxy settings. Connections are not
// kept alive: hooks are rare, and the server would close an idle connection between calls.
func New() *Action {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
	return &Action{
		lookupEnv:  os.LookupEnv,
		transport:  t,
		newBackOff: func() backoff.BackOff { return backoff.NewExponentialBackOff() },
	}
}
