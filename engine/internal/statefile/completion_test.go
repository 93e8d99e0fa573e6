package statefile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestRecordCompletion(t *testing.T) {
	entry := statefile.Completion{Session: "demo", Type: "tick", Status: statefile.CompletionComplete, CompletedAt: "2026-01-01T00:00:00Z"}
	const text = `{"session":"demo","type":"tick","status":"complete","completed_at":"2026-01-01T00:00:00Z"}`
	const older = `{"session":"demo","completed_at":"2025-12-31T23:59:59Z"}`
	tests := map[string]struct {
		before, want string
		again        bool
	}{
		"no file":                           {"", "[" + text + "]", false},
		"empty list":                        {"[]", "[" + text + "]", false},
		"others are kept":                   {`[{"session":"old","more":[1]},7]`, `[{"session":"old","more":[1]},7,` + text + "]", false},
		"a second run in the same second":   {"[" + text + "]", "[" + text + "," + text + "]", false},
		"again, and it is there":            {"[7," + text + "]", "[7," + text + "]", true},
		"again, and only an older is there": {"[" + older + "]", "[" + older + "," + text + "]", true},
		"again, and no file":                {"", "[" + text + "]", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := testkit.Session(t, t.TempDir(), "s")
			if tt.before != "" {
				testkit.OK(t, p.Replace(store.CompletionsFile, []byte(tt.before)))
			}
			testkit.OK(t, statefile.RecordCompletion(t.Context(), p, entry, tt.again))
			got := testkit.Must(p.Read(store.CompletionsFile, 1000))
			testkit.Equal(t, parsed(t, tt.want), parsed(t, string(got)))
		})
	}
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	testkit.OK(t, json.Unmarshal([]byte(text), &v))
	return v
}

func TestCompletionsOfManySessionsAtOnce(t *testing.T) {
	p, _ := testkit.Session(t, t.TempDir(), "s")
	const n = 20
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := statefile.RecordCompletion(t.Context(), p, statefile.Completion{Session: fmt.Sprint(i)}, false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text := testkit.Must(p.Read(store.CompletionsFile, 1<<20))
	if got := parsed(t, string(text)).([]any); len(got) != n {
		t.Errorf("%d entries of %d", len(got), n)
	}
}

func TestUnreadableCompletionsAreKept(t *testing.T) {
	for name, text := range map[string]string{"an object": "{}", "torn": `[{"session":`} {
		t.Run(name, func(t *testing.T) {
			p, _ := testkit.Session(t, t.TempDir(), "s")
			testkit.OK(t, p.Replace(store.CompletionsFile, []byte(text)))
			err := statefile.RecordCompletion(t.Context(), p, statefile.Completion{}, false)
			if failure.KindOf(err) != failure.StateCorrupt || !strings.Contains(err.Error(), p.Abs(store.CompletionsFile)) {
				t.Errorf("got %v", err)
			}
			testkit.Equal(t, text, string(testkit.Must(p.Read(store.CompletionsFile, 100))))
		})
	}
}

func TestCompletionWaitsForTheLock(t *testing.T) {
	p, _ := testkit.Session(t, t.TempDir(), "s")
	lock := testkit.Must(p.OpenFile(store.CompletionsLock, os.O_CREATE|os.O_RDWR))
	defer lock.Close()
	testkit.OK(t, store.TryFlock(lock))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := statefile.RecordCompletion(ctx, p, statefile.Completion{}, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// An entry is added to a list without loss, or the file stays unchanged.
func FuzzCompletions(f *testing.F) {
	for _, seed := range []string{"", "[]", "null", ` [{"session":"old","more":[1, 2.50]},7]`, "{}", "[", "[1]\n[2]", "3"} {
		f.Add([]byte(seed))
	}
	p, _ := testkit.Session(f, f.TempDir(), "s")
	f.Fuzz(func(t *testing.T, before []byte) {
		testkit.OK(t, p.Replace(store.CompletionsFile, before))
		err := statefile.RecordCompletion(t.Context(), p, statefile.Completion{Session: "demo", Status: statefile.CompletionComplete}, false)
		after, readErr := p.Read(store.CompletionsFile, 1<<20)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if err != nil {
			if failure.KindOf(err) != failure.StateCorrupt || !bytes.Equal(after, before) {
				t.Errorf("%v: %q became %q", err, before, after)
			}
			return
		}
		had, hadErr := exactly(before)
		has, hasErr := exactly(after)
		if hadErr != nil && strings.TrimSpace(string(before)) != "" || hasErr != nil {
			t.Fatalf("%q became %q", before, after)
		}
		if diff := cmp.Diff(had, has[:len(has)-1]); len(has) != len(had)+1 || len(had) > 0 && diff != "" {
			t.Errorf("%q became %q", before, after)
		}
	})
}

// exactly returns a list in JSON with its numbers as written, because some exceed the types of Go.
func exactly(text []byte) (list []any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&list)
	return list, err
}
