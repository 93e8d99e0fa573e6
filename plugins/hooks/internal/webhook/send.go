package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// maxRedirects is how many redirections one request follows.
const maxRedirects = 3

// maxErrorBody is how much is kept of the body of a response that is no success.
const maxErrorBody = 2 << 10

var (
	errTooLong      = fmt.Errorf("the response is longer than %d KiB", firing.MaxContext>>10)
	errInsecure     = errors.New("redirected from https to http")
	errManyRedirect = fmt.Errorf("redirected more than %d times", maxRedirects)
)

// send posts the message, again where that may help, all within the limit, and returns the body of the
// response.
func (w *Action) send(ctx context.Context, m message, retries int, limit time.Duration) ([]byte, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client := &http.Client{Transport: w.transport, CheckRedirect: checkRedirect}
	tries := 0
	var last error // of a try that was not cut off
	body, err := backoff.Retry(within, func() ([]byte, error) {
		tries++
		body, err := post(within, client, m)
		if err != nil && within.Err() == nil {
			last = err
		}
		return body, err
	}, backoff.WithBackOff(w.newBackOff()), backoff.WithMaxTries(uint(retries)+1), backoff.WithMaxElapsedTime(limit)) //nolint:gosec // checked to be small
	switch {
	case err == nil:
		return body, nil
	case ctx.Err() != nil:
		return nil, firing.StopError(ctx, failurePrefix+"POST "+m.String())
	case within.Err() != nil:
		return nil, firing.TimeoutError(failurePrefix+"POST "+m.String(), limit).WithDetail(previousErrorDetail(last))
	}
	return nil, addHint(m.newFailure(err), err, tries)
}

func previousErrorDetail(err error) string {
	if err == nil {
		return ""
	}
	return "before that: " + err.Error()
}

// addHint adds what to do.
func addHint(f *failure.Error, err error, tries int) *failure.Error {
	if tries > 1 {
		f.Message += fmt.Sprintf(" (%d tries)", tries)
	}
	var status *statusError
	switch {
	case errors.As(err, &status):
		return f.WithDetail(status.body).WithHint("see what the service says; on_error: continue lets the run go on without it")
	case errors.Is(err, errTooLong):
		return f.WithHint("let the service respond with less; the agents read it as context")
	default:
		return f.WithHint("check the url and that the service runs; on_error: continue lets the run go on without it")
	}
}

// post makes one try. Errors that another try cannot mend are permanent.
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

// requestError tells a service that cannot be reached now from one that never can. The address, which may
// hold a secret, is left out of the error.
func requestError(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) || errors.Is(err, errInsecure) || errors.Is(err, errManyRedirect) {
		return backoff.Permanent(err)
	}
	return err
}

// statusError is a response that is no success.
type statusError struct {
	status     string
	body       string // its beginning
	retryAfter error  // a backoff.RetryAfterError, or nil
}

func (e *statusError) Error() string { return e.status }
func (e *statusError) Unwrap() error { return e.retryAfter }

// newStatusError is the error of a response that is no success. It is worth another try where the service says
// that it is busy or not there.
func newStatusError(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what can be had of it
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

// checkRedirect decides on redirections: at most [maxRedirects], never to an unprotected connection, and nothing
// that was configured for one host goes to another. What is asked for without the body goes unsigned.
func checkRedirect(r *http.Request, via []*http.Request) error {
	first, last := via[0], via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return errManyRedirect
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
