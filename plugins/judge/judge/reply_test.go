package judge

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	done := Verdict{Stop: true, Reason: "flat", Confidence: 0.9}
	const bare = `{"stop": true, "reason": "flat", "confidence": 0.9}`
	tests := []struct {
		name   string
		reply  string
		want   Verdict
		record string
	}{
		{"bare", bare, done, `{"confidence":0.9,"reason":"flat","stop":true}`},
		{"with space around", "\n  " + bare + " \n", done, `{"confidence":0.9,"reason":"flat","stop":true}`},
		{"json fence", "Here you go:\n```json\n" + bare + "\n```\nBye.", done, `{"confidence":0.9,"reason":"flat","stop":true}`},
		{"bare fence", "```\n" + bare + "\n```", done, `{"confidence":0.9,"reason":"flat","stop":true}`},
		{"json fence goes first", "```\n{}\n```\n```json\n" + bare + "\n```", done, `{"confidence":0.9,"reason":"flat","stop":true}`},
		{"fence in other letters, indented", "  ```JSON\n" + bare + "\n  ```", done, `{"confidence":0.9,"reason":"flat","stop":true}`},
		{"fence without an end", "```json\n" + bare, done, `{"confidence":0.9,"reason":"flat","stop":true}`},
		{"windows newlines", "```json\r\n" + bare + "\r\n```\r\n", done, `{"confidence":0.9,"reason":"flat","stop":true}`},
		{"defaults", `{"stop": false}`, Verdict{}, `{"confidence":0,"reason":"","stop":false}`},
		{"no members", `{}`, Verdict{}, `{"confidence":0,"reason":"","stop":false}`},
		{"null", `{"stop":null,"reason":null,"confidence":null}`, Verdict{}, `{"confidence":0,"reason":"","stop":false}`},
		{"members of its own", `{"stop":true,"extra":{"kept":[1]}}`, Verdict{Stop: true}, `{"confidence":0,"extra":{"kept":[1]},"reason":"","stop":true}`},
		{"texts for booleans", `{"stop":"True"}`, Verdict{Stop: true}, `{"confidence":0,"reason":"","stop":true}`},
		{"text for no", `{"stop":"false"}`, Verdict{}, `{"confidence":0,"reason":"","stop":false}`},
		{"members of wrong types", `{"stop":true,"reason":["a"],"confidence":"high"}`, Verdict{Stop: true}, `{"confidence":0,"reason":"","stop":true}`},
		{"too sure", `{"stop":true,"confidence":90}`, Verdict{Stop: true, Confidence: 1}, `{"confidence":1,"reason":"","stop":true}`},
		{"less than unsure", `{"confidence":-1}`, Verdict{}, `{"confidence":0,"reason":"","stop":false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, record, ok := parseReply(tt.reply)
			if !ok {
				t.Fatal("refused")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdict (-want +got)\n%s", diff)
			}
			var want, recorded any
			if err := json.Unmarshal([]byte(tt.record), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(record, &recorded); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, recorded); diff != "" {
				t.Errorf("record (-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, reply := range []string{
		"", "I think you should stop.", "stop", "true", "null", "[]", `[{"stop":true}]`, `{"stop":true`, `{"stop":true} and more`,
		`{"stop":1}`, `{"stop":"yes"}`, `{"stop":""}`, `{"stop":{}}`, "```json\n```", "```json\nno\n```\n{\"stop\":true}",
	} {
		if v, _, ok := parseReply(reply); ok {
			t.Errorf("%q is read as %+v", reply, v)
		}
	}
}

func TestParseIsBounded(t *testing.T) {
	v, record, ok := parseReply(`{"stop":true,"reason":"x` + strings.Repeat("é", maxReasonBytes) + `","essay":"` + strings.Repeat("x", maxRecordBytes) + `"}`)
	if !ok || len(v.Reason) > maxReasonBytes || len(v.Reason) < maxReasonBytes-utf8.UTFMax || !utf8.ValidString(v.Reason) {
		t.Errorf("reason of %d bytes", len(v.Reason))
	}
	if diff := cmp.Diff(string(mustEncode(v)), string(record)); diff != "" {
		t.Errorf("record (-want +got)\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"stop": true, "reason": "flat", "confidence": 0.9}`)
	f.Add("Here:\n```json\n{\"stop\": false, \"extra\": [1]}\n```")
	f.Add("```\n{}\n```")
	f.Add("I think you should stop.")
	f.Fuzz(func(t *testing.T, reply string) {
		v, record, ok := parseReply(reply)
		if !ok {
			return
		}
		if v.Confidence < 0 || v.Confidence > 1 || len(v.Reason) > maxReasonBytes || len(record) > 8*maxRecordBytes {
			t.Errorf("out of bounds: %+v, record of %d bytes", v, len(record))
		}
		again, same, ok := parseReply(string(record))
		if !ok || again != v || string(same) != string(record) {
			t.Errorf("the record %s is read as %+v, %s", record, again, same)
		}
	})
}
