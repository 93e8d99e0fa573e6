package mock

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestMatch(t *testing.T) {
	tests := map[bool][]string{
		true: {
			`{}`, `{"node":"plan"}`, `{"stage":"planner"}`, `{"session":"demo"}`, `{"iteration":1}`, `{"attempt":1}`, `{"visit":1}`, `{"purpose":"work"}`,
			`{"prompt_contains":"a plan"}`, `{"provider":"claude"}`, `{"node":"plan","iteration":1,"attempt":1}`,
		},
		false: {
			`{"node":"other"}`, `{"stage":"other"}`, `{"session":"other"}`, `{"iteration":2}`, `{"attempt":2}`, `{"visit":2}`, `{"step":"s1"}`, `{"purpose":"question"}`,
			`{"prompt_contains":"a poem"}`, `{"provider":"codex"}`, `{"node":"plan","iteration":1,"attempt":2}`,
		},
	}
	for want, matches := range tests {
		for _, match := range matches {
			c := Config{Replies: make([]Reply, 1)}
			check(t, json.Unmarshal([]byte(match), &c.Replies[0].Match))
			c.Replies[0].Output = ptr("mine")
			config := must(json.Marshal(c))
			tr := newFixture(t, string(config))
			tr.env[envProvider] = "claude"
			tr.req.Purpose = ""
			result, err := tr.execute(t.Context())
			if got := result.Output == "mine"; err != nil || got != want {
				t.Errorf("%s matches: %t, want %t; %v", match, got, want, err)
			}
		}
	}
}

// A reply can match a step of its node; the key of the attempt contains the step.
func TestMatchStep(t *testing.T) {
	tests := []struct{ key, want string }{
		{"attempt:0/v1/r1/-/s1/i1#1", "first"},
		{"attempt:10.2/v2/r13/claude/s1/i12#3", "first"},
		{"heal:1/v1/r1/-/s.2_a-b/i1#2", "second"},
		{"attempt:0/v1/r1/-/-/i1#1", "any"},
		{"attempt:0/v1/r1/s1/-/i1#1", "any"},
		{"attempt:0/v1/r1/-/s10/i1#1", "any"},
		{"attempt:0/v1/r1/s1/i1#1", "any"},
		{"attempt:0/v1/r1/-/x/s1/i1#1", "any"},
		{"attempt:0/v1/r1/-//i1#1", "any"},
		{"", "any"},
	}
	for _, tt := range tests {
		tr := newFixture(t, `{"replies":[{"step":"s1","output":"first"},{"step":"s.2_a-b","output":"second"},{"output":"any"}]}`)
		tr.req.Key = tt.key
		result := must(tr.execute(t.Context()))
		if result.Output != tt.want {
			t.Errorf("%s: %q, want %q", tt.key, result.Output, tt.want)
		}
	}
}

func TestSourcesAreAskedInOrder(t *testing.T) {
	tr := newFixture(t, `{"replies":[{"iteration":1,"output":"pipeline"}]}`)
	tr.write(t, "mine.json", `{"replies":[{"iteration":2,"output":"file"},{"iteration":1,"output":"never"}]}`)
	tr.write(t, "fixtures/mock.json", `{"replies":[{"iteration":3,"output":"fixtures"},{"iteration":2,"output":"never"}]}`)
	tr.write(t, "fixtures/default.txt", "text")
	tr.env[envConfig], tr.env[envFixtures] = "mine.json", "fixtures"
	var got []string
	for tr.req.Iteration = 1; tr.req.Iteration <= 4; tr.req.Iteration++ {
		result := must(tr.execute(t.Context()))
		got = append(got, result.Output)
	}
	compare(t, []string{"pipeline", "file", "fixtures", "text"}, got)
}

func TestTimes(t *testing.T) {
	tr := newFixture(t, `{"replies":[{"times":2,"output":"early"},{"output":"late"}]}`)
	var got []string
	for range 4 {
		result := must(tr.execute(t.Context()))
		got = append(got, result.Output)
	}
	compare(t, []string{"early", "early", "late", "late"}, got)
	tr.req.Config = []byte(`{"replies":[{"times":1,"output":"another configuration"}]}`)
	if result, err := tr.execute(t.Context()); err != nil || result.Output != "another configuration" {
		t.Errorf("got %q, %v", result.Output, err)
	}
}

func TestTimesHoldForConcurrentCalls(t *testing.T) {
	tr := newFixture(t, `{"replies":[{"times":10,"output":"limited"},{"output":"free"}]}`)
	var mu sync.Mutex
	got := map[string]int{}
	var calls sync.WaitGroup
	for range 40 {
		calls.Go(func() {
			result, err := tr.provider.Execute(t.Context(), tr.req, &plugintest.Exchange{})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[result.Output]++
		})
	}
	calls.Wait()
	compare(t, map[string]int{"limited": 10, "free": 30}, got)
}

func TestUnusableConfig(t *testing.T) {
	tests := []struct{ name, config, want string }{
		{"unknown key", `{"replies":[{"outptu":"x"}]}`, `config: unknown key "outptu" in replies[0], did you mean "output"?`},
		{"unknown key in a call", `{"replies":[{"tool_calls":[{"tool":"t","arg":{}}]}]}`, `config: unknown key "arg" in replies[0].tool_calls[0], did you mean "args"?`},
		{"delay", `{"delay_ms":-1}`, `config: /delay_ms: minimum: got -1, want 0`},
		{"numbers", `{"replies":[{"times":-1,"delay_ms":-1}]}`, `config: /replies/0/delay_ms: minimum: got -1, want 0; /replies/0/times: minimum: got -1, want 0`},
		{"two outputs", `{"replies":[{"output":"","output_chunks":[]}]}`, `config: replies[0]: output and output_chunks exclude each other`},
		{"two files", `{"replies":[{"result":{},"status":{}}]}`, `config: replies[0]: result, status and no_result exclude each other`},
		{"a file and none", `{"replies":[{"status":{},"no_result":true}]}`, `config: replies[0]: result, status and no_result exclude each other`},
		{"two artifacts", `{"replies":[{"artifact":{},"raw_artifact":""}]}`, `config: replies[0]: artifact, raw_artifact and artifact_file exclude each other`},
		{"a file beside one", `{"replies":[{"artifact":{},"artifact_file":"a"}]}`, `config: replies[0]: artifact, raw_artifact and artifact_file exclude each other`},
		{
			"objects", `{"replies":[{"artifact":null,"result":[],"status":"x"}]}`,
			`config: /replies/0/artifact: got null, want object; /replies/0/result: got array, want object; /replies/0/status: got string, want object`,
		},
		{
			"words", `{"replies":[{},{"crash":"burn","at":"noon","purpose":"fun","spawn":{"kind":"fish"}}]}`,
			`config: /replies/1/at: value must be one of 'start', 'before_result', 'after_result'; /replies/1/crash: value must be one of 'exit', 'panic', 'kill'; ` +
				`/replies/1/purpose: value must be one of 'work', 'question'; /replies/1/spawn/kind: value must be one of 'plain', 'setsid'`,
		},
		{"tools", `{"replies":[{"tool_calls":[{"tool":"","args":1}]}]}`, `config: /replies/0/tool_calls/0/args: got number, want object; /replies/0/tool_calls/0/tool: minLength: got 0, want 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, tt.config)
			_, err := tr.execute(t.Context())
			if err == nil || failure.KindOf(err) != failure.ConfigInvalid {
				t.Fatalf("got %v", err)
			}
			compare(t, tt.want, err.Error())
			validation := tr.provider.Validate(t.Context(), sdk.ValidateRequest{Config: json.RawMessage(tt.config)})
			if validation == nil || validation.Error() != tt.want {
				t.Errorf("Validate: %v", validation)
			}
		})
	}
}

func TestConfigFilesAreNamedInErrors(t *testing.T) {
	for _, name := range []string{envConfig, envFixtures} {
		tr := newFixture(t, "")
		tr.write(t, "f/mock.json", `{"replys":[]}`)
		tr.env[name] = map[string]string{envConfig: "f/mock.json", envFixtures: "f"}[name]
		_, err := tr.execute(t.Context())
		if err == nil || !strings.HasSuffix(err.Error(), `f/mock.json: config: unknown key "replys", did you mean "replies"?`) || failure.KindOf(err) != failure.ConfigInvalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestValidateAccepts(t *testing.T) {
	for _, config := range []string{``, `null`, `{}`, `{"replies":[{"crash":"kill"}],"record":"r","delay_ms":3}`} {
		if err := NewProvider().Validate(t.Context(), sdk.ValidateRequest{Model: "any", Config: json.RawMessage(config)}); err != nil {
			t.Errorf("%q: %v", config, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"replies":[{"node":"a","output":"b","tool_calls":[{"tool":"t","args":{}}],"delay_ms":1}]}`))
	f.Add([]byte(`{"decisions":["continue",{"action":"ask","ask":{"prompt":"?"}}]}`))
	f.Add([]byte(`{"answer":"pause","facts":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, provider := decodeConfig(raw)
		for _, err := range []error{provider, strategyRules.Decode(raw, new(StrategyConfig)), actionRules.Decode(raw, new(ActionConfig))} {
			if err != nil && failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("kind of %v is %q", err, failure.KindOf(err))
			}
		}
	})
}
