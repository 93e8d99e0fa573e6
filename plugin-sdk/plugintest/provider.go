package plugintest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// largeBytes is more than gRPC's own limit of 4 MiB, which the protocol raises.
const largeBytes = 4<<20 + 1

// concurrency is the number of calls that the suite makes at once.
const concurrency = 8

// Case is one way to call a provider. Empty fields are passed as they are.
type Case struct {
	Prompt      string
	Model       string
	Config      json.RawMessage
	Environment map[string]string
	// Run and Input are for a provider that runs commands.
	Run   string
	Input json.RawMessage
}

// ProviderConfig says how to provoke what the suite wants to see of a provider.
type ProviderConfig struct {
	// New makes a provider of its own for each check. Required.
	New func(testing.TB) sdk.Provider
	// Normal succeeds with some output.
	Normal Case
	// Slow does not end by itself for a minute, so that it can be cancelled. It must differ from Normal.
	Slow Case
	// Large has a prompt or a configuration by which the output exceeds 4 MiB. A shorter prompt than
	// that is made up to 4 MiB with spaces at its end.
	Large Case
	// Full succeeds and shows everything that the traits claim: token counts and cost, tool calls that
	// are observed, tool calls that are gated, and a checkpoint with finished gated calls before and after
	// it. Nil: Normal shows all there is.
	Full *Case
	// Refused are configurations that Validate must refuse, besides such as are no JSON at all.
	Refused []json.RawMessage
}

// Provider runs the conformance suite on a provider.
func Provider(t *testing.T, cfg ProviderConfig) {
	t.Helper()
	build := func(tb testing.TB) sdk.Plugin {
		return sdk.Plugin{Name: "conformance", Version: "1.0.0", Providers: []sdk.Provider{cfg.New(tb)}}
	}
	bothWays(t, build, []check{
		{"describes itself", func(t *testing.T, s side) { described(t, s, sdk.KindProvider, cfg.New(t).Describe()) }},
		{"yields output and outcome", cfg.executes},
		{"keeps the word of its traits", cfg.keepsItsWord},
		{"takes the models that it says", cfg.choosesModels},
		{"honours cancel", cfg.cancels},
		{"honours a context that is over", cfg.cancelledBefore},
		{"works on several calls", cfg.overlaps},
		{"carries large messages", cfg.carriesLarge},
		{"refuses garbage", func(t *testing.T, s side) {
			refuses(t, s.plugin.Providers[0], validates(cfg.New(t)), cfg.Refused)
		}},
		{"survives garbage", cfg.survivesGarbage},
	})
}

func (cfg ProviderConfig) executes(t *testing.T, s side) {
	p := s.plugin.Providers[0]
	prepare(t, p, cfg.Normal.Model, cfg.Normal.Config)
	x := &Exchange{}
	result, err := p.Execute(patient(t), cfg.Normal.request(t), x)
	if err != nil {
		t.Fatalf("execute: %v", err)
	}
	succeeded(t, result, x)
	if result.Duration < 0 {
		t.Errorf("negative duration %s", result.Duration)
	}
}

// succeeded demands an honest success: the outcome says so, nothing says otherwise, and there is text.
func succeeded(t *testing.T, result sdk.ExecuteResult, x *Exchange) {
	t.Helper()
	if got := cmp.Or(result.Outcome, sdk.OutcomeSucceeded); got != sdk.OutcomeSucceeded {
		t.Errorf("outcome %s, want %s", got, sdk.OutcomeSucceeded)
	}
	if result.Error != nil {
		t.Errorf("a success with an error: %v", result.Error)
	}
	if output(result, x) == "" {
		t.Errorf("no output; a provider that said nothing has outcome %s", sdk.OutcomeEmpty)
	}
}

// output is the text that the kernel would keep.
func output(result sdk.ExecuteResult, x *Exchange) string {
	return cmp.Or(result.Output, x.Record().Text(sdk.StreamText))
}

func (cfg ProviderConfig) cancels(t *testing.T, s side) {
	p := s.plugin.Providers[0]
	prepare(t, p, cfg.Slow.Model, cfg.Slow.Config)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sign := make(chan struct{})
	x := &Exchange{OnOutput: onceClose(sign)}
	request := cfg.Slow.request(t)
	mark := markAttempt(&request)
	ended := make(chan string, 1)
	var call sync.WaitGroup
	call.Go(func() {
		result, err := p.Execute(ctx, request, x)
		ended <- claim(result, err)
	})
	select {
	case <-sign: // it is at work
	case early := <-ended:
		t.Fatalf("the slow case ended by itself: %s", early)
	case <-time.After(200 * time.Millisecond): // it works in silence
	}
	cancel()
	select {
	case got := <-ended:
		if got != "" {
			t.Errorf("a cancelled attempt ended as a success: %s", got)
		}
	case <-time.After(patience):
		t.Fatal("execute ignores the end of its context")
	}
	call.Wait()
	if left := marked(mark); s.traits().SoftCancel && len(left) > 0 {
		t.Errorf("the traits claim soft_cancel, but a cancelled attempt leaves processes behind: %v", left)
	}
}

// markAttempt puts an entry into the attempt's environment, which what the provider starts inherits, and
// returns it.
func markAttempt(request *sdk.ExecuteRequest) string {
	env := maps.Clone(request.Environment)
	if env == nil {
		env = map[string]string{}
	}
	env["PLUGINTEST_ATTEMPT"] = rand.Text()
	request.Environment = env
	return "PLUGINTEST_ATTEMPT=" + env["PLUGINTEST_ATTEMPT"]
}

// claim describes an attempt that pretends to have succeeded; "" is an honest end after a cancel.
func claim(result sdk.ExecuteResult, err error) string {
	if err != nil || result.Error != nil || cmp.Or(result.Outcome, sdk.OutcomeSucceeded) != sdk.OutcomeSucceeded {
		return ""
	}
	return fmt.Sprintf("outcome %q, output of %d bytes, no error", result.Outcome, len(result.Output))
}

func onceClose(sign chan struct{}) func(sdk.OutputChunk) {
	closing := sync.OnceFunc(func() { close(sign) })
	return func(sdk.OutputChunk) { closing() }
}

func (cfg ProviderConfig) cancelledBefore(t *testing.T, s side) {
	p := s.plugin.Providers[0]
	prepare(t, p, cfg.Slow.Model, cfg.Slow.Config)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result, err := p.Execute(ctx, cfg.Slow.request(t), &Exchange{})
	if got := claim(result, err); got != "" {
		t.Errorf("an attempt that was cancelled before it began ended as a success: %s", got)
	}
}

func (cfg ProviderConfig) overlaps(t *testing.T, s side) {
	p := s.plugin.Providers[0]
	prepare(t, p, cfg.Normal.Model, cfg.Normal.Config)
	atOnce := concurrency
	if s.description.Components[0].Concurrency == sdk.ConcurrencySerial {
		atOnce = 1
	}
	together(atOnce, func(i int) {
		x := &Exchange{}
		result, err := p.Execute(patient(t), cfg.Normal.request(t), x)
		if err != nil {
			t.Errorf("call %d: %v", i, err)
			return
		}
		succeeded(t, result, x)
	})
}

func (cfg ProviderConfig) carriesLarge(t *testing.T, s side) {
	p := s.plugin.Providers[0]
	prepare(t, p, cfg.Large.Model, cfg.Large.Config)
	request := cfg.Large.request(t)
	if missing := largeBytes - len(request.Prompt); missing > 0 {
		request.Prompt += strings.Repeat(" ", missing)
	}
	x := &Exchange{}
	result, err := p.Execute(patient(t), request, x)
	if err != nil {
		t.Fatalf("execute with a prompt of %d bytes: %v", len(request.Prompt), err)
	}
	if got := len(output(result, x)); got < largeBytes {
		t.Errorf("got %d bytes of output, want more than 4 MiB", got)
	}
}

// survivesGarbage: what Execute does with it is its own affair, as long as it returns and goes on.
func (cfg ProviderConfig) survivesGarbage(t *testing.T, s side) {
	p := s.plugin.Providers[0]
	initialize(t, p)
	for _, config := range garbage() {
		request := cfg.Normal.request(t)
		request.Config = config
		if _, err := p.Execute(patient(t), request, &Exchange{}); failure.KindOf(err) == failure.ProviderCrashed {
			t.Errorf("config %q ends the process: %v", config, err)
		}
	}
	cfg.executes(t, s)
}

// request is an attempt as the kernel would make it.
func (c Case) request(t *testing.T) sdk.ExecuteRequest {
	dir := t.TempDir()
	attempt := t.TempDir()
	return sdk.ExecuteRequest{
		Key:         "attempt:1/v1/r1//i1#1",
		Epoch:       1,
		Session:     "plugintest",
		Node:        "node",
		Stage:       "stage",
		Iteration:   1,
		Attempt:     1,
		Visit:       1,
		Purpose:     sdk.PurposeWork,
		Prompt:      c.Prompt,
		Model:       c.Model,
		Config:      c.Config,
		WorkDir:     dir,
		Environment: c.Environment,
		Run:         c.Run,
		Input:       c.Input,
		Grace:       time.Second,
		Paths: sdk.Paths{
			Context:  filepath.Join(attempt, "context.json"),
			Status:   filepath.Join(attempt, "status.json"),
			Result:   filepath.Join(attempt, "result.json"),
			Progress: filepath.Join(attempt, "progress.md"),
			Output:   filepath.Join(attempt, "output.md"),
			Attempt:  attempt,
		},
	}
}
