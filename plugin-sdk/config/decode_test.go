package config

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

type shared struct {
	DelayMS int `json:"delay_ms"`
}

type reply struct {
	shared
	Output string          `json:"output"`
	Result json.RawMessage `json:"result"`
	Hidden string          `json:"-"`
}

type target struct {
	Replies []reply           `json:"replies"`
	Judge   *reply            `json:"judge"`
	Labels  map[string]string `json:"labels"`
	Plain   bool
}

func TestDecodeReads(t *testing.T) {
	tests := []struct {
		name string
		raw  string
		want target
	}{
		{"empty", "", target{}},
		{"null", " null ", target{}},
		{
			"nested and embedded", `{"replies":[{"output":"a","delay_ms":3}],"judge":{"output":"b"}}`,
			target{Replies: []reply{{Output: "a", shared: shared{3}}}, Judge: &reply{Output: "b"}},
		},
		{
			"free members", `{"labels":{"any":"x"},"replies":[{"result":{"free":1}}]}`,
			target{Labels: map[string]string{"any": "x"}, Replies: []reply{{Result: json.RawMessage(`{"free":1}`)}}},
		},
		{"untagged", `{"Plain":true}`, target{Plain: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got target
			if err := Decode(json.RawMessage(tt.raw), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"broken", `{`, "config is not valid JSON: unexpected end of JSON input"},
		{"array", `[]`, "config must be an object, not an array"},
		{"string", `"x"`, "config must be an object, not a string"},
		{"number", `1`, "config must be an object, not a number"},
		{"boolean", `true`, "config must be an object, not a boolean"},
		{"near key", `{"replys":[]}`, `config: unknown key "replys", did you mean "replies"?`},
		{"far key", `{"zzz":1}`, `config: unknown key "zzz", known are Plain, judge, labels, replies`},
		{"case counts", `{"Replies":[]}`, `config: unknown key "Replies", did you mean "replies"?`},
		{
			"all at once, with their places", `{"replies":[{},{"outptu":1}],"judge":{"delay":1}}`,
			`config: unknown key "delay" in judge, known are delay_ms, output, result; unknown key "outptu" in replies[1], did you mean "output"?`,
		},
		{"hidden field", `{"judge":{"Hidden":"x"}}`, `config: unknown key "Hidden" in judge, known are delay_ms, output, result`},
		{"wrong type", `{"judge":{"output":7}}`, `config: "judge.output" does not fit: got number, want a string`},
		{"fraction", `{"judge":{"delay_ms":1.5}}`, `config: "judge.delay_ms" does not fit: got number 1.5, want a whole number`},
		{"no array", `{"replies":{}}`, `config: "replies" does not fit: got object, want an array`},
		{"no object", `{"judge":"x"}`, `config: "judge" does not fit: got string, want an object`},
		{"no boolean", `{"Plain":"x"}`, `config: "Plain" does not fit: got string, want a boolean`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Decode(json.RawMessage(tt.raw), new(target))
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := failure.KindOf(err); got != failure.ConfigInvalid {
				t.Errorf("kind %q", got)
			}
		})
	}
}

type word string

func (w *word) UnmarshalJSON(raw []byte) error {
	var inner struct {
		Word string `json:"word"`
	}
	if err := Decode(raw, &inner); err != nil {
		return err
	}
	*w = word(inner.Word)
	return nil
}

func TestDecodeUsesUnmarshalers(t *testing.T) {
	var got struct {
		Word   word  `json:"word"`
		Second *word `json:"other"`
	}
	if err := Decode(json.RawMessage(`{"word":{"word":"a"},"other":{"word":"b"}}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.Word != "a" || *got.Second != "b" {
		t.Errorf("got %q and %q", got.Word, *got.Second)
	}
	err := Decode(json.RawMessage(`{"word":{"wort":"a"}}`), &got)
	if want := `config: unknown key "wort", did you mean "word"?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"replies":[{"output":"a"}]}`))
	f.Add([]byte(`{"judge":{"delay_ms":1,"result":[{}]}}`))
	f.Add([]byte(`{"labels":{"a":{}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := Decode(raw, new(target))
		if err != nil && failure.KindOf(err) != failure.ConfigInvalid {
			t.Errorf("kind of %v is %q", err, failure.KindOf(err))
		}
		if err == nil && json.Unmarshal(raw, new(target)) != nil && len(raw) > 0 && json.Valid(raw) {
			t.Errorf("accepted %q, which encoding/json refuses", raw)
		}
	})
}
