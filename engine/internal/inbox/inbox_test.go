package inbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestPostPollAck(t *testing.T) {
	d := openDir(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	posted := []inbox.Message{
		{Action: inbox.Pause, By: "ann", Reason: "lunch"},
		{Action: inbox.Answer, By: "ann", Question: "q1", Answer: "approve", Digest: "abc", Text: "fine", At: at},
		{Action: inbox.Feedback, Text: "tabs & <spaces>\n"},
		{Action: inbox.Abort, ID: "mine"}, // Post replaces the id
	}
	before := time.Now()
	var want []inbox.Message
	for _, m := range posted {
		id := testkit.Must(inbox.Post(d, run(), m))
		m.ID = id
		want = append(want, m)
	}
	got := poll(t, d)
	if diff := cmp.Diff(want, got, unsigned); diff != "" {
		t.Fatal(diff)
	}
	if !got[1].At.Equal(at) {
		t.Errorf("at is %v, want the given %v", got[1].At, at)
	}
	if got[0].At.Before(before.Truncate(0).UTC()) || got[0].At.Location() != time.UTC {
		t.Errorf("at is %v, want the time of posting in UTC", got[0].At)
	}

	for range 2 {
		if err := inbox.Ack(d, want[1].ID); err != nil {
			t.Errorf("ack: %v", err)
		}
	}
	testkit.Equal(t, slices.Delete(want, 1, 2), poll(t, d), unsigned)
}

// Before finds the earlier of two answers to a question until it is removed. Other messages and files do not matter.
func TestBefore(t *testing.T) {
	d := openDir(t)
	post := func(action inbox.Action, question, by string) inbox.Message {
		m := inbox.Message{Action: action, Question: question, By: by}
		id := testkit.Must(inbox.Post(d, run(), m))
		m.ID = id
		return m
	}
	post(inbox.Pause, "", "eve")
	other := post(inbox.Answer, "q2", "ann")
	first, second := post(inbox.Answer, "q1", "bob"), post(inbox.Answer, "q1", "cem")
	for name, text := range map[string]string{"0.json": "no message", "1": "", "2.txt": "x"} {
		testkit.Must(d.Write("inbox/"+name, []byte(text)))
	}
	for _, m := range []inbox.Message{other, first} {
		if found, is := inbox.Before(d, run(), m); is {
			t.Errorf("before %s's there is %s's", m.By, found.By)
		}
	}
	if found, is := inbox.Before(d, run(), second); !is || found.By != "bob" {
		t.Errorf("before cem's there is %q's: %t", found.By, is)
	}
	testkit.OK(t, inbox.Ack(d, first.ID))
	if found, is := inbox.Before(d, run(), second); is {
		t.Errorf("%s's is taken, and there", found.By)
	}
}

// Other programs and later versions read this form of the file.
func TestFile(t *testing.T) {
	d := openDir(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	id := testkit.Must(inbox.Post(d, run(), inbox.Message{Action: inbox.Pause, By: "ann", Reason: "lunch", At: at}))
	text := testkit.Must(d.Read("inbox/"+id+".json", inbox.MaxMessage))
	text = regexp.MustCompile(`"(ed25519:)?[A-Za-z0-9_-]{43,}"`).ReplaceAll(text, []byte(`"$1…"`))
	want := "{\n  \"id\": \"" + id + "\",\n  \"action\": \"pause\",\n  \"session\": \"auth\",\n  \"run_id\": \"PL-1\",\n  \"by\": \"ann\",\n  \"reason\": \"lunch\",\n  \"at\": \"2026-03-01T12:00:00Z\",\n  \"key\": \"ed25519:…\",\n  \"signature\": \"…\"\n}\n"
	testkit.Equal(t, want, string(text))
}

func TestPostRefuses(t *testing.T) {
	tests := map[string]struct {
		message inbox.Message
		want    string
	}{
		"no action":       {inbox.Message{}, `post to session "auth": unknown action ""`},
		"unknown action":  {inbox.Message{Action: "dance"}, `post to session "auth": unknown action "dance"`},
		"readers' action": {inbox.Message{Action: inbox.Rejected}, `post to session "auth": unknown action "rejected"`},
		"answer to what":  {inbox.Message{Action: inbox.Answer, Answer: "yes"}, `post to session "auth": an answer names no question`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := openDir(t)
			_, err := inbox.Post(d, run(), tt.message)
			if failure.KindOf(err) != failure.ConfigInvalid || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if left := names(t, d, store.InboxDir); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Poll reads each message that Post accepts. Post refuses a message that Poll would reject for its size.
func TestLargestMessage(t *testing.T) {
	d := openDir(t)
	m := inbox.Message{Action: inbox.Feedback, At: time.Unix(0, 0).UTC(), Text: "x"}
	id := testkit.Must(inbox.Post(d, run(), m))
	info := testkit.Must(d.Stat("inbox/" + id + ".json"))
	fits := inbox.MaxMessage - int(info.Size()) + len("x") + len("\n")

	m.Text = strings.Repeat("x", fits)
	if _, err := inbox.Post(d, run(), m); err != nil {
		t.Errorf("the largest message: %v", err)
	}
	m.Text += "x"
	_, err := inbox.Post(d, run(), m)
	want := `post to session "auth": the message has 32769 bytes, at most 32768 are accepted`
	if failure.KindOf(err) != failure.ConfigInvalid || err.Error() != want || failure.From(err).Hint == "" {
		t.Errorf("got %v, want %s", err, want)
	}
	var got []inbox.Action
	for _, m := range poll(t, d) {
		got = append(got, m.Action)
	}
	testkit.Equal(t, []inbox.Action{inbox.Feedback, inbox.Feedback}, got)
}

func TestEmptyInbox(t *testing.T) {
	d := openDir(t)
	if got := poll(t, d); got != nil {
		t.Errorf("got %v", got)
	}
	if err := inbox.Ack(d, "20260301T120000.000000000Z-aaaaaaaaaa"); err != nil {
		t.Error(err)
	}
}

// A file that is not a message is set aside, once, and does not delay the messages around it.
func TestRejected(t *testing.T) {
	tests := map[string]struct{ name, text, reason string }{
		"not json":       {"m.json", "{", "m.json was moved to inbox/bad: not a message: unexpected end of JSON input"},
		"other type":     {"m.json", "[]", "m.json was moved to inbox/bad: not a message: json: cannot unmarshal array into Go value of type inbox.Message"},
		"other id":       {"m.json", `{"id":"n","action":"pause"}`, "m.json was moved to inbox/bad: its id is not the file's name"},
		"unknown action": {"m.json", `{"action":"dance"}`, `m.json was moved to inbox/bad: unknown action "dance"`},
		"no question":    {"m.json", `{"action":"answer"}`, "m.json was moved to inbox/bad: an answer names no question"},
		"name":           {"m m.json", `{"action":"pause"}`, "m m.json was moved to inbox/bad: its name is not an id"},
		"hidden":         {".m.json", `{"action":"pause"}`, ".m.json was moved to inbox/bad: its name is not an id"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := openDir(t)
			sign(t, d, "a.json", inbox.Message{Action: inbox.Pause})
			put(t, d, tt.name, tt.text)
			sign(t, d, "z.json", inbox.Message{Action: inbox.Abort})
			want := []inbox.Message{
				{ID: "a", Action: inbox.Pause},
				{ID: strings.TrimSuffix(tt.name, ".json"), Action: inbox.Rejected, Reason: tt.reason},
				{ID: "z", Action: inbox.Abort},
			}
			slices.SortFunc(want, func(a, b inbox.Message) int { return strings.Compare(a.ID+".json", b.ID+".json") })
			testkit.Equal(t, want, poll(t, d), unsigned)
			testkit.Equal(t, []string{tt.name}, names(t, d, store.BadInboxDir))
			if got := poll(t, d); len(got) != 2 {
				t.Errorf("once more: %v", got)
			}
		})
	}
}

// U319: a message counts only with the user's signature over all of its content, for its session and run.
func TestForged(t *testing.T) {
	honest := inbox.Message{Action: inbox.Answer, Question: "q-1", Answer: "approve", Digest: "abc", By: "ann", Text: "fine", Reason: "r", At: time.Unix(9, 0).UTC()}
	other, user := t.TempDir(), os.Getenv("XDG_STATE_HOME")
	tests := map[string]struct {
		forge  func(d *store.Dir, m *inbox.Message) error
		reason string // "" for a message that counts
	}{
		"honest":   {func(*store.Dir, *inbox.Message) error { return nil }, ""},
		"no key":   {func(_ *store.Dir, m *inbox.Message) error { m.Key = ""; return nil }, "the signature does not match the content"},
		"no text":  {func(_ *store.Dir, m *inbox.Message) error { m.Signature = ""; return nil }, "the message has none"},
		"bad text": {func(_ *store.Dir, m *inbox.Message) error { m.Signature = "x y"; return nil }, "the signature does not match the content"},
		"action":   {func(_ *store.Dir, m *inbox.Message) error { m.Action = inbox.Abort; return nil }, "the signature does not match the content"},
		"answer":   {func(_ *store.Dir, m *inbox.Message) error { m.Answer = "reject"; return nil }, "the signature does not match the content"},
		"question": {func(_ *store.Dir, m *inbox.Message) error { m.Question = "q-2"; return nil }, "the signature does not match the content"},
		"digest":   {func(_ *store.Dir, m *inbox.Message) error { m.Digest = "abd"; return nil }, "the signature does not match the content"},
		"author":   {func(_ *store.Dir, m *inbox.Message) error { m.By = "bob"; return nil }, "the signature does not match the content"},
		"text":     {func(_ *store.Dir, m *inbox.Message) error { m.Text = "fine "; return nil }, "the signature does not match the content"},
		"reason":   {func(_ *store.Dir, m *inbox.Message) error { m.Reason = ""; return nil }, "the signature does not match the content"},
		"time":     {func(_ *store.Dir, m *inbox.Message) error { m.At = time.Unix(8, 0).UTC(); return nil }, "the signature does not match the content"},
		"run":      {func(_ *store.Dir, m *inbox.Message) error { m.RunID = "PL-2"; return nil }, "the signature does not match the content"},
		"replayed": {func(d *store.Dir, m *inbox.Message) error {
			return inbox.SignAs(m, d.Session(), inbox.Run{ID: "PL-0", Keys: run().Keys})
		}, `the message is for run "PL-0", this is run PL-1`},
		"elsewhere": {func(_ *store.Dir, m *inbox.Message) error { return inbox.SignAs(m, "fork", run()) }, `the message is for session "fork"`},
		"own key": {func(d *store.Dir, m *inbox.Message) error {
			t.Setenv("XDG_STATE_HOME", other)
			defer t.Setenv("XDG_STATE_HOME", user)
			return inbox.SignAs(m, d.Session(), run())
		}, "you do not trust the key ed25519:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, m := openDir(t), honest
			m.ID = "m"
			testkit.OK(t, inbox.SignAs(&m, d.Session(), run()))
			testkit.OK(t, tt.forge(d, &m))
			put(t, d, "m.json", string(testkit.Must(json.Marshal(m))))
			later := honest
			later.ID = "n"
			if _, before := inbox.Before(d, run(), later); before != (tt.reason == "") {
				t.Errorf("it is taken for an earlier answer: %t", before)
			}
			got := poll(t, d)
			if tt.reason == "" {
				testkit.Equal(t, []inbox.Message{m}, got)
				return
			}
			if len(got) != 1 || got[0].Action != inbox.Rejected || got[0].Requested != m.Action || !strings.Contains(got[0].Reason, "invalid signature: "+tt.reason) {
				t.Errorf("got %+v, want %s", got, tt.reason)
			}
			testkit.Equal(t, []string{"m.json"}, names(t, d, store.BadInboxDir))
		})
	}
}

// While the keys cannot be read, a message is neither delivered nor refused.
func TestUnreadableKeys(t *testing.T) {
	d := openDir(t)
	sign(t, d, "m.json", inbox.Message{Action: inbox.Pause})
	keys := run().Keys.Dir()
	testkit.OK(t, os.Chmod(keys, 0o755))
	got, err := inbox.Poll(d, run())
	testkit.OK(t, os.Chmod(keys, 0o700))
	if failure.KindOf(err) != failure.ConfigInvalid || len(got) > 0 {
		t.Errorf("got %v, %v", got, err)
	}
	testkit.Equal(t, 1, len(poll(t, d)))
}

// The author of a message with a trusted key is followed by the name of the key.
func TestTrustedKey(t *testing.T) {
	d, user := openDir(t), os.Getenv("XDG_STATE_HOME")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	sign(t, d, "m.json", inbox.Message{Action: inbox.Answer, Question: "q", Answer: "approve", By: "ann"})
	key := testkit.Must(run().Keys.PublicKey())
	t.Setenv("XDG_STATE_HOME", user)
	testkit.OK(t, run().Keys.Trust(testkit.Must(signing.NewKey(key.Public, "laptop"))))
	got := poll(t, d)
	if len(got) != 1 || !strings.Contains(string(got[0].Event().Data), `"by":"ann (key laptop)"`) {
		t.Errorf("got %+v", got)
	}
}

// SetAside moves a message that Poll delivered, and ignores names that are no ids.
func TestSetAside(t *testing.T) {
	d := openDir(t)
	sign(t, d, "m.json", inbox.Message{Action: inbox.Pause})
	for _, want := range []bool{true, false} {
		testkit.Equal(t, want, testkit.Must(inbox.SetAside(d, "m")))
	}
	testkit.Equal(t, false, testkit.Must(inbox.SetAside(d, "../state")))
	testkit.Equal(t, []string{"m.json"}, names(t, d, store.BadInboxDir))
}

func TestTooLargeIsRejected(t *testing.T) {
	d := openDir(t)
	put(t, d, "m.json", `{"action":"pause","reason":"`+strings.Repeat("x", inbox.MaxMessage)+`"}`)
	got := poll(t, d)
	if len(got) != 1 || got[0].Action != inbox.Rejected || !strings.Contains(got[0].Reason, "file is too large") {
		t.Errorf("got %v", got)
	}
}

func TestLinksAreRejected(t *testing.T) {
	d := openDir(t)
	sign(t, d, "a.json", inbox.Message{Action: inbox.Pause})
	at := d.Abs(store.InboxDir)
	for name, to := range map[string]string{"inside.json": "a.json", "dangling.json": "absent", "outside.json": "/dev/zero"} {
		testkit.OK(t, os.Symlink(to, filepath.Join(at, name)))
	}
	var got []string
	for _, m := range poll(t, d) {
		got = append(got, m.ID+" "+string(m.Action))
	}
	want := []string{"a pause", "dangling rejected", "inside rejected", "outside rejected"}
	testkit.Equal(t, want, got)
}

// Files that are being written, directories and other suffixes are ignored.
func TestOtherFilesAreIgnored(t *testing.T) {
	d := openDir(t)
	put(t, d, ".tmp-ABC.json", `{"action":"pause"}`)
	put(t, d, "note.txt", `{"action":"pause"}`)
	testkit.OK(t, d.Mkdir(store.InboxDir+"/sub.json"))
	if got := poll(t, d); got != nil {
		t.Errorf("got %v", got)
	}
	testkit.Equal(t, []string{".tmp-ABC.json", "note.txt"}, names(t, d, store.InboxDir))
}

// Ack with an id that Poll never returned changes no file outside the inbox.
func TestAckStaysInside(t *testing.T) {
	d := openDir(t)
	testkit.OK(t, d.Replace("state.json", []byte("{}")))
	for _, id := range []string{"../state", "", ".", "..", "bad/m", "a b"} {
		if err := inbox.Ack(d, id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := d.Stat("state.json"); err != nil {
		t.Error(err)
	}
}

func TestConcurrentPosts(t *testing.T) {
	d := openDir(t)
	const posters, each = 4, 25
	ids := make([][]string, posters)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			for range each {
				id, err := inbox.Post(d, run(), inbox.Message{Action: inbox.Pause})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = append(ids[i], id)
			}
		})
	}
	for polls := 0; len(poll(t, d)) < posters*each && !t.Failed(); polls++ { // reading never disturbs writing
		if polls%10 == 0 && polls < 30 {
			_, _ = d.SweepTemps() // nor does a kernel that starts and removes half-written files
		}
	}
	wg.Wait()
	for i := range ids {
		if !slices.IsSorted(ids[i]) {
			t.Errorf("poster %d: ids do not sort by time: %v", i, ids[i])
		}
	}
	var got []string
	for _, m := range poll(t, d) {
		got = append(got, m.ID)
	}
	want := slices.Sorted(slices.Values(slices.Concat(ids...)))
	testkit.Equal(t, want, got)
}

func TestRemovedDirectory(t *testing.T) {
	d := openDir(t)
	testkit.OK(t, os.RemoveAll(d.Path()))
	if _, err := inbox.Post(d, run(), inbox.Message{Action: inbox.Pause}); failure.KindOf(err) != failure.StateCorrupt {
		t.Errorf("post: %v", err)
	}
	if _, err := inbox.Poll(d, run()); failure.KindOf(err) != failure.StateCorrupt {
		t.Errorf("poll: %v", err)
	}
}

func poll(t *testing.T, d *store.Dir) []inbox.Message {
	t.Helper()
	messages, err := inbox.Poll(d, run())
	if err != nil {
		t.Error(err)
	}
	return messages
}

// TestMain gives the tests a state directory of their own, for the keys.
func TestMain(m *testing.M) {
	dir := testkit.Must(os.MkdirTemp("", "inbox-"))
	_ = os.Setenv("XDG_STATE_HOME", dir)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// run is the run of the tests' messages.
func run() inbox.Run { return inbox.Run{ID: "PL-1", Keys: signing.UserKeys()} }

// unsigned ignores the members of a message that Post sets.
var unsigned = cmpopts.IgnoreFields(inbox.Message{}, "At", "Session", "RunID", "Key", "Signature")

// sign writes a file into the inbox with a message that the user signed.
func sign(t *testing.T, d *store.Dir, name string, m inbox.Message) {
	t.Helper()
	m.ID = strings.TrimSuffix(name, ".json")
	testkit.OK(t, inbox.SignAs(&m, d.Session(), run()))
	put(t, d, name, string(testkit.Must(json.Marshal(m))))
}

func openDir(t *testing.T) *store.Dir {
	_, d := testkit.Session(t, t.TempDir(), "auth")
	return d
}

// put writes a file into the inbox as another program does.
func put(t *testing.T, d *store.Dir, name, text string) {
	t.Helper()
	testkit.OK(t, d.Mkdir(store.InboxDir))
	testkit.OK(t, os.WriteFile(filepath.Join(d.Abs(store.InboxDir), name), []byte(text), 0o644))
}

// names lists a directory of the session.
func names(t *testing.T, d *store.Dir, dir string) []string {
	t.Helper()
	entries := testkit.Must(d.Entries(dir))
	var all []string
	for _, e := range entries {
		if !e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all
}

// Each message is delivered once, whether it is acknowledged (1) or not (2).
func TestWatch(t *testing.T) {
	d := openDir(t)
	w := inbox.NewWatch(d, run())
	expect := func(want ...string) {
		t.Helper()
		var got []string
		err := w.Poll(func(m inbox.Message) {
			got = append(got, m.ID+" "+string(m.Action))
			if m.ID == "1" {
				if err := inbox.Ack(d, m.ID); err != nil {
					t.Error(err)
				}
			}
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	sign(t, d, "1.json", inbox.Message{Action: inbox.Pause})
	sign(t, d, "2.json", inbox.Message{Action: inbox.Abort})
	expect("1 pause", "2 abort")
	expect()
	sign(t, d, "0.json", inbox.Message{Action: inbox.Abort})
	put(t, d, "x.json", `{`)
	expect("0 abort", "x rejected")
	put(t, d, "x.json", `{`) // the same name is another file
	expect("x rejected")
	expect()
}

// A directory that is gone is an error.
func TestWatchOfRemovedDirectory(t *testing.T) {
	d := openDir(t)
	testkit.OK(t, os.RemoveAll(d.Path()))
	err := inbox.NewWatch(d, run()).Poll(func(inbox.Message) { t.Error("delivered") })
	if failure.KindOf(err) != failure.StateCorrupt {
		t.Errorf("got %v, want state_corrupt", err)
	}
}
