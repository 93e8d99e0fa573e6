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

// largeBytes exceeds gRPC's own limit of 4 MiB, which the protocol raises.
const largeBytes = 4<<20 + 1

// concurrency is the number of concurrent calls.
const concurrency = 8

// Case is one call of a provider. Empty fields stay empty in the request.
type Case struct {
	Prompt      string
	Model       string
	Config      json.RawMessage
	Environment map[string]string
	// Run and Input are for a provider that runs commands.
	Run   string
	Input json.RawMessage
}

// ProviderConfig holds the cases for the conformance suite of a provider.
type ProviderConfig struct {
	// New returns a new provider for each check. Required.
	New func(testing.TB) sdk.Provider
	// Normal succeeds with some output.
	Normal Case
	// Slow does not end within a minute, so that it can be cancelled. It must differ from
	// Normal.
	Slow Case
	// Large has a prompt or a configuration that makes the output exceed 4 MiB. A shorter prompt is
	// padded to 4 MiB with spaces.
	Large Case
	// Full succeeds and shows every declared trait: token counts and cost, observed and gated tool
	// calls, and a checkpoint with finished gated calls before and after it. Default: Normal.
	Full *Case
	// Refused are configurations, besides invalid JSON, that Validate must refuse.
	Refused []json.RawMessage
}

// Provider runs the conformance suite on a provider.
func Provider(t *testing.T, cfg ProviderConfig) {
	t.Helper()
	build := func(tb testing.TB) sdk.Plugin {
		return sdk.Plugin{Name: "conformance", Version: "1.0.0", Providers: []sdk.Provider{cfg.New(tb)}}
	}
	runBoth(t, build, []check{
		{"describes itself", func(t *testing.T, s side) { checkDescription(t, s, sdk.KindProvider, cfg.New(t).Describe()) }},
		{"yields output and outcome", cfg.executes},
		{"matches its traits", cfg.checkTraits},
		{"accepts the declared models", cfg.choosesModels},
		{"honours cancel", cfg.cancels},
		{"honours an ended context", cfg.cancelledBefore},
		{"handles concurrent calls", cfg.overlaps},
		{"carries large messages", cfg.carriesLarge},
		{"refuses garbage", func(t *testing.T, s side) {
			checkRefused(t, s.plugin.Providers[0], validates(cfg.New(t)), cfg.Refused)
		}},
		{"survives garbage", cfg.survivesGarbage},
	})
}

func (cfg ProviderConfig) executes(t *testing.T, s side) {
	p := s.plugin.Providers[0]
	prepare(t, p, cfg.Normal.Model, cfg.Normal.Config)
	x := &Exchange{}
	result, err := p.Execute(testContext(t), cfg.Normal.request(t), x)
	if err != nil {
		t.Fatalf("execute: %v", err)
	}
	checkSucceeded(t, result, x)
	if result.Duration < 0 {
		t.Errorf("negative duration %s", result.Duration)
	}
}

// checkSucceeded checks that an attempt succeeded consistently: its outcome, no error, and some text.
func checkSucceeded(t *testing.T, result sdk.ExecuteResult, x *Exchange) {
	t.Helper()
	if got := cmp.Or(result.Outcome, sdk.OutcomeSucceeded); got != sdk.OutcomeSucceeded {
		t.Errorf("outcome %s, want %s", got, sdk.OutcomeSucceeded)
	}
	if result.Error != nil {
		t.Errorf("a success with an error: %v", result.Error)
	}
	if output(result, x) == "" {
		t.Errorf("no output; an attempt without text has outcome %s", sdk.OutcomeEmpty)
	}
}

// output returns the text that the kernel would keep.
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
	case <-sign: // the agent is working
	case early := <-ended:
		t.Fatalf("the slow case ended: %s", early)
	case <-time.After(200 * time.Millisecond): // the agent works silently
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
	if left := markedProcesses(mark); s.traits().SoftCancel && len(left) > 0 {
		t.Errorf("the traits claim soft_cancel, but a cancelled attempt leaves processes behind: %v", left)
	}
}

// markAttempt adds an entry to the attempt's environment, which child processes inherit, and
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

// claim describes an attempt that falsely claims success; "" means a correct end after a
// cancellation.
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
	concurrently(atOnce, func(i int) {
		x := &Exchange{}
		result, err := p.Execute(testContext(t), cfg.Normal.request(t), x)
		if err != nil {
			t.Errorf("call %d: %v", i, err)
			return
		}
		checkSucceeded(t, result, x)
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
	result, err := p.Execute(testContext(t), request, x)
	if err != nil {
		t.Fatalf("execute with a prompt of %d bytes: %v", len(request.Prompt), err)
	}
	if got := len(output(result, x)); got < largeBytes {
		t.Errorf("got %d bytes of output, want more than 4 MiB", got)
	}
}

// survivesGarbage checks that Execute returns and the process survives; its result does not matter.
func (cfg ProviderConfig) survivesGarbage(t *testing.T, s side) {
	p := s.plugin.Providers[0]
	initialize(t, p)
	for _, config := range garbage() {
		request := cfg.Normal.request(t)
		request.Config = config
		if _, err := p.Execute(testContext(t), request, &Exchange{}); failure.KindOf(err) == failure.ProviderCrashed {
			t.Errorf("config %q ends the process: %v", config, err)
		}
	}
	cfg.executes(t, s)
}

// request returns an attempt as the kernel would start it.
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
