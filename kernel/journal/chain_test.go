package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// keeper keeps the head of a journal.
type keeper struct {
	head  atomic.Pointer[journal.Head]
	calls atomic.Int64
	err   error
}

func (k *keeper) options() journal.Options {
	return journal.Options{Head: k.head.Load(), KeepHead: func(h journal.Head) error {
		if k.err == nil {
			k.head.Store(&h)
			k.calls.Add(1)
		}
		return k.err
	}}
}

// writeChain writes a journal of n events, the first two by Begin, and closes it.
func writeChain(t testing.TB, d *store.Dir, n int) *keeper {
	t.Helper()
	k := &keeper{}
	j := begin(t, d, k.options())
	for i := 2; i < n; i++ {
		must(j.Append(t.Context(), stateEvent(fmt.Sprint("e", i))))
	}
	check(t, j.Close())
	return k
}

func verify(t testing.TB, d *store.Dir, head *journal.Head) journal.Chain {
	t.Helper()
	return must(journal.Verify(d, head, nil, nil)).Chain
}

// kinds lists the breaks as "kind@line/seq".
func kinds(c journal.Chain) string {
	var all []string
	for _, b := range c.Breaks {
		all = append(all, fmt.Sprintf("%s@%d/%d", b.Kind, b.Line, b.Seq))
	}
	return strings.Join(all, " ")
}

// U326: edited, cut, reordered, added and recomputed lines are found.
func TestChainBreaks(t *testing.T) {
	edit := func(i int) func([]string) []string {
		return func(l []string) []string { l[i] = strings.Replace(l[i], `"kind":"user"`, `"kind":"hook"`, 1); return l }
	}
	recompute := func(l []string) []string { // as this package would write the lines
		again := openDir(t)
		j := open(t, again, journal.Options{})
		for i, text := range l {
			e := must(event.ParseLine([]byte(text)))
			if i == 4 {
				e.Data = []byte(`{"kind":"hook"}`)
			}
			must(j.Append(t.Context(), e))
		}
		check(t, j.Close())
		return slices.Collect(strings.Lines(content(t, again)))
	}
	for name, tt := range map[string]struct {
		change func([]string) []string
		want   string
	}{
		"nothing":        {func(l []string) []string { return l }, ""},
		"an edited line": {edit(4), "edited@5/5"},
		"the first line": {func(l []string) []string { l[0] = strings.Replace(l[0], "loop", "pool", 1); return l }, "edited@1/1"},
		"the last line":  {edit(7), "recomputed@8/8"},
		"a digest":       {func(l []string) []string { l[4] = strings.Replace(l[4], `"prev":"`, `"prev":"x`, 1); return l }, "edited@4/4 edited@5/5"},
		"no digest": {func(l []string) []string {
			l[4], _, _ = strings.Cut(l[4], `,"prev"`)
			l[4] += "}\n"
			return l
		}, "edited@5/5"},
		"a missing line":     {func(l []string) []string { return slices.Delete(l, 4, 5) }, "missing@5/6"},
		"the beginning":      {func(l []string) []string { return l[3:] }, "missing@1/4"},
		"the end":            {func(l []string) []string { return l[:6] }, "cut@6/8"},
		"everything":         {func([]string) []string { return nil }, "cut@0/8"},
		"reordered":          {func(l []string) []string { l[4], l[5] = l[5], l[4]; return l }, "missing@5/6 order@6/5 order@7/7"},
		"twice":              {func(l []string) []string { return slices.Insert(l, 5, l[3]) }, "order@6/4 order@7/6"},
		"a line between":     {func(l []string) []string { return slices.Insert(l, 5, "no event\n") }, "order@7/6"},
		"a line behind":      {func(l []string) []string { return append(l, "no event\n") }, "added@9/0"},
		"an event behind":    {func(l []string) []string { return append(l, line(9, 1, "control")) }, "added@9/9"},
		"recomputed":         {recompute, "recomputed@8/8"},
		"blank lines behind": {func(l []string) []string { return append(l, "\n", " \n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := openDir(t)
			k := writeChain(t, d, 8)
			put(t, d, strings.Join(tt.change(slices.Collect(strings.Lines(content(t, d)))), ""))
			got := verify(t, d, k.head.Load())
			require(t, kinds(got) == tt.want && got.BreakCount == len(got.Breaks), kinds(got), tt.want, got)

			j, log, err := journal.Open(t.Context(), d, k.options(), func(event.Event) {}) // finds the same
			require(t, err == nil && kinds(log.Chain) == tt.want, err, kinds(log.Chain))
			j.Accept() // and continues if the user accepts them
			must(j.Append(t.Context(), stateEvent("more")))
			check(t, j.Close())
			got = verify(t, d, k.head.Load())
			require(t, got.BreakCount == 0, kinds(got))

			text := content(t, d)
			put(t, d, strings.Replace(text, `"type":"`, `"type":"x`, 1)) // a line that was accepted
			got = verify(t, d, k.head.Load())
			require(t, got.BreakCount > 0, got)
		})
	}
}

// U326: lines of the Bash engine and of older versions are unchained, but the first chained line covers them.
func TestUnchainedLines(t *testing.T) {
	d := openDir(t)
	bash := `{"ts":"2026-01-01T00:00:00Z","type":"session_start","session":"s","cursor":null,"data":{}}` + "\n"
	old := bash + line(2, 1, "kernel_start")
	put(t, d, old)
	got := verify(t, d, nil)
	require(t, got.Chained == 0 && got.Unchained == 2 && got.BreakCount == 0, got)
	k := &keeper{}
	j := open(t, d, k.options())
	must(j.Start(t.Context(), event.KernelStartData{}))
	must(j.Append(t.Context(), stateEvent("x")))
	check(t, j.Close())
	got = verify(t, d, k.head.Load())
	require(t, got.Chained == 2 && got.Unchained == 2 && got.FirstChained == 3 && got.LastChained == 4 && got.BreakCount == 0, got)
	put(t, d, strings.Replace(content(t, d), `"data":{}}`, `"data":{"a":1}}`, 1))
	got = verify(t, d, k.head.Load())
	require(t, kinds(got) == "edited@2/2", got)
	got = verify(t, d, nil)
	require(t, kinds(got) == "edited@2/2 head_missing@0/4" && !got.LacksHeadOnly(), got)
}

// U326: a head that came with the session excuses the lines up to its own, if it is at rest and no line follows.
func TestHeadCopy(t *testing.T) {
	d := openDir(t)
	kept := writeChain(t, d, 5).head.Load()
	elsewhere := keeper{} // another user's
	j := open(t, d, elsewhere.options())
	must(j.Start(t.Context(), event.KernelStartData{}))
	check(t, j.Close())
	headCopy, text := elsewhere.head.Load(), content(t, d)
	require(t, headCopy.From == 5, headCopy)
	running := *headCopy
	running.Rest = false
	later := *headCopy
	later.From = 6
	edited := strings.Replace(text, `"kind":"user"`, `"kind":"hook"`, 1)
	for name, tt := range map[string]struct {
		head, headCopy *journal.Head
		text, want     string
	}{
		"without it":                {kept, nil, text, "added@6/6"},
		"with it":                   {kept, headCopy, text, ""},
		"known from later on":       {kept, &later, text, "added@6/6"},
		"not at rest":               {kept, &running, text, "added@6/6"},
		"of an earlier end":         {kept, kept, text, "added@6/6"},
		"a line behind":             {kept, headCopy, text + line(7, 2, "control"), "added@7/7"},
		"an edited line":            {kept, headCopy, edited, "edited@3/3"},
		"cut":                       {headCopy, kept, strings.Join(slices.Collect(strings.Lines(text))[:5], ""), "cut@5/6"},
		"instead of one":            {nil, headCopy, text, ""},
		"instead of one, a line":    {nil, headCopy, text + line(7, 2, "control"), "head_missing@0/7"},
		"recomputed":                {&journal.Head{Seq: 5, Digest: "x", Run: kept.Run}, headCopy, text, "recomputed@5/5"},
		"another run":               {&journal.Head{Seq: 5, Digest: "x", Run: "PL-9"}, nil, text, "other_run@5/5"},
		"another, longer run":       {&journal.Head{Seq: 50, Digest: "x", Run: "PL-9"}, nil, text, "other_run@0/50"},
		"another run, with it":      {&journal.Head{Seq: 5, Digest: "x", Run: "PL-9"}, headCopy, text, ""},
		"another run, no journal":   {&journal.Head{Seq: 5, Digest: "x", Run: "PL-9"}, headCopy, "", "cut@0/5"},
		"another run, a line":       {&journal.Head{Seq: 5, Digest: "x", Run: "PL-9"}, headCopy, text + line(7, 2, "control"), "other_run@5/5"},
		"of an older version":       {&journal.Head{Seq: 5, Digest: kept.Digest}, nil, text, ""},
		"of an older version, cut":  {&journal.Head{Seq: 50, Digest: "x"}, headCopy, text, "cut@6/50"},
		"added, and edited earlier": {kept, nil, edited, "edited@3/3 added@6/6"},
	} {
		t.Run(name, func(t *testing.T) {
			put(t, d, tt.text)
			got := must(journal.Verify(d, tt.head, tt.headCopy, nil)).Chain
			require(t, kinds(got) == tt.want && got.BreakCount == len(got.Breaks), kinds(got), tt.want)
			j, log, err := journal.Open(t.Context(), d, journal.Options{Head: tt.head, Copy: tt.headCopy}, func(event.Event) {})
			require(t, err == nil && kinds(log.Chain) == tt.want, err, kinds(log.Chain))
			check(t, j.Close())
		})
	}
	put(t, d, edited)
	accepted := must(journal.Verify(d, nil, nil, nil)).Chain.End
	got := must(journal.Verify(d, nil, &accepted, nil)).Chain
	require(t, got.BreakCount == 0 && got.AcceptedBreaks == 1 && got.HeadMatches && got.ByCopy, got)
}

// The journal of a session whose directory was copied or renamed says whose it is.
func TestRenamedSession(t *testing.T) {
	d, other := openDir(t), must(must(store.OpenProject(t.TempDir())).Create("other"))
	writeChain(t, d, 3)
	put(t, other, content(t, d))
	got := must(journal.Verify(other, nil, nil, nil)).Chain
	require(t, kinds(got) == "renamed@1/1 head_missing@0/3" && strings.Contains(got.Breaks[0].Message, "session 's'"), got)
	put(t, d, strings.Replace(content(t, d), `"prev":"`, `"prev":"x`, 1))
	got = verify(t, d, nil)
	require(t, kinds(got) == "edited@1/1 edited@1/1 head_missing@0/3", got)
}

// A process that dies at any byte of a write leaves no break, and the next one continues the chain.
func TestChainAfterACrash(t *testing.T) {
	d := openDir(t)
	k := &keeper{}
	j := begin(t, d, k.options())
	opened := *k.head.Load()
	for range 3 {
		must(j.Append(t.Context(), stateEvent("x")))
	}
	check(t, j.Close())
	text := content(t, d)
	for cut := 0; cut <= len(text); cut += 7 {
		put(t, d, text[:cut])
		k.head.Store(&opened)
		require(t, verify(t, d, &opened).BreakCount == 0, cut)
		j := open(t, d, k.options())
		must(j.Start(t.Context(), event.KernelStartData{}))
		check(t, j.Close())
		got := verify(t, d, k.head.Load())
		require(t, got.BreakCount == 0 && got.Chained > 0 && k.head.Load().Rest, cut, got)
	}
}

// The head is kept before the first line, at most once a second while lines follow, and by Close.
func TestHeadIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDir(t)
		k := &keeper{}
		j := begin(t, d, k.options())
		require(t, k.calls.Load() == 1 && k.head.Load().Seq == 0 && !k.head.Load().Rest, k.head.Load())
		for range 100 {
			must(j.Append(t.Context(), stateEvent("x")))
		}
		time.Sleep(1500 * time.Millisecond)
		require(t, k.calls.Load() == 2 && k.head.Load().Seq == 102, k.head.Load())
		time.Sleep(time.Minute)
		require(t, k.calls.Load() == 2, k.calls.Load()) // nothing new
		must(j.Append(t.Context(), infoEvent("not synced")))
		time.Sleep(time.Minute)
		require(t, k.head.Load().Seq == 102, k.head.Load())
		check(t, j.Close())
		require(t, k.head.Load().Seq == 103 && k.head.Load().Rest, k.head.Load())
		require(t, verify(t, d, k.head.Load()).BreakCount == 0)

		k.err = errors.New("no space")
		j = open(t, d, k.options())
		_, err := j.Append(t.Context(), stateEvent("y")) // the head at rest would make it an added line
		require(t, errors.Is(err, k.err), err)
		require(t, verify(t, d, k.head.Load()).BreakCount == 0)
		k.head.Store(nil)
		j = open(t, d, k.options())
		must(j.Append(t.Context(), stateEvent("y"))) // without a head there is nothing to contradict
		check(t, j.Close())
	})
}

// A process that another one has fenced keeps no head at its end.
func TestFencedHead(t *testing.T) {
	d := openDir(t)
	old, next := &keeper{}, &keeper{}
	first := begin(t, d, old.options())
	second := open(t, d, next.options())
	must(second.Start(t.Context(), event.KernelStartData{}))
	_, err := first.Append(t.Context(), stateEvent("late"))
	require(t, errors.Is(err, journal.ErrFenced), err)
	_ = first.Close()
	require(t, !old.head.Load().Rest, old.head.Load())
	third := open(t, d, journal.Options{})
	must(third.Append(t.Context(), stateEvent("of another process")))
	check(t, third.Close())
	must(second.Append(t.Context(), stateEvent("continues the chain")))
	check(t, second.Close())
	got := verify(t, d, next.head.Load())
	require(t, got.BreakCount == 0 && got.Chained == 5 && next.head.Load().Rest, got)
}

// The error of a journal that cannot be read.
func TestVerifyUnreadable(t *testing.T) {
	d := openDir(t)
	require(t, verify(t, d, nil).BreakCount == 0)
	check(t, os.Mkdir(d.Abs(store.EventsFile), 0o755))
	_, err := journal.Verify(d, nil, nil, nil)
	require(t, err != nil)
}

// FuzzVerify changes a journal at rest. Each change of what a line says is found, and nothing else is.
func FuzzVerify(f *testing.F) {
	d := openDir(f)
	k := writeChain(f, d, 6)
	text := []byte(content(f, d))
	f.Add(0, 0, []byte(nil))
	f.Add(5, 9, []byte("x"))
	f.Add(len(text), 0, []byte("{}\n"))
	f.Add(len(text)-40, 40, []byte(nil))
	f.Add(300, 300, []byte("\n\n"))
	f.Fuzz(func(t *testing.T, at, length int, with []byte) {
		if at < 0 || length < 0 || at > len(text) || length > len(text)-at || len(with) > 4096 {
			return
		}
		changed := slices.Concat(text[:at], with, text[at+length:])
		put(t, d, string(changed))
		log, err := journal.Verify(d, k.head.Load(), nil, nil)
		got := log.Chain
		same := slices.EqualFunc(fullLines(text), fullLines(changed), bytes.Equal)
		if err == nil && (got.BreakCount == 0) != same {
			t.Errorf("%+v\n%s", got, changed)
		}
	})
}

// fullLines returns the lines that are not blank. A last line without a newline is left out unless it is an event: it
// counts as torn.
func fullLines(text []byte) (lines [][]byte) {
	for line := range bytes.Lines(text) {
		whole := bytes.HasSuffix(line, []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if _, err := event.ParseLine(line); len(bytes.TrimSpace(line)) > 0 && (whole || err == nil) {
			lines = append(lines, line)
		}
	}
	return lines
}
