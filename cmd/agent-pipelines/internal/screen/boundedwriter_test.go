package screen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A blocked reader delays the writers once, by maxPatience. When it reads again, it gets the number of the dropped lines
// and all later lines.
func TestBoundedWriterDropsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		r := NewBoundedWriter(out)
		line := strings.Repeat("x", 1023) + "\n"
		fmt.Fprint(r, line)
		synctest.Wait() // the writer is blocked in the first line
		began := time.Now()
		for range maxWaiting/len(line) + 7 {
			fmt.Fprint(r, line)
		}
		compare(t, maxPatience, time.Since(began))
		var got bytes.Buffer
		read := func(n int) {
			t.Helper()
			if _, err := io.CopyN(&got, in, int64(n)); err != nil {
				t.Fatal(err)
			}
		}
		read(len(line) + maxWaiting)
		got.Reset()
		notice := "  … 7 lines are left out here, since they were not read; events.jsonl of the session has all events\n"
		synctest.Wait() // the writer is blocked in the notice
		fmt.Fprint(r, "since\n")
		read(len(notice) + len("since\n"))
		compare(t, notice+"since\n", got.String())
		r.Flush(0)
		r.Close()
	})
}

// A reader that is slower than the writers, but reads, gets all lines.
func TestBoundedWriterWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		r := NewBoundedWriter(out)
		var want, got bytes.Buffer
		var reading sync.WaitGroup
		reading.Go(func() {
			for b := make([]byte, 16<<10); ; time.Sleep(time.Millisecond) {
				n, err := in.Read(b)
				got.Write(b[:n])
				if err != nil {
					return
				}
			}
		})
		for i := range 20 {
			for j := range 2000 {
				line := fmt.Sprintln("line", i, j, strings.Repeat("x", 200))
				want.WriteString(line)
				fmt.Fprint(r, line)
			}
			time.Sleep(time.Second) // the reader catches up
		}
		r.Flush(0)
		r.Close()
		out.Close()
		reading.Wait()
		require(t, got.String() == want.String(), got.Len(), want.Len())
	})
}

// A flush waits for the reader for a limited time; afterwards no line is accepted.
func TestBoundedWriterFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		r := NewBoundedWriter(out)
		began := time.Now()
		fmt.Fprint(r, "one\n")
		r.Flush(2 * time.Second)
		compare(t, 2*time.Second, time.Since(began))
		fmt.Fprint(r, "two\n")
		r.Flush(0) // at once: there is nothing to wait for
		in.Close()
		synctest.Wait()
		compare(t, 2*time.Second, time.Since(began))
	})
}

// broken is a pipe whose reader is gone.
type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) { b.writes++; return 0, errors.New("broken pipe") }

// Nothing is kept for a reader that is gone, and no writer waits for it.
func TestBoundedWriterWithoutReader(t *testing.T) {
	var to broken
	r := NewBoundedWriter(&to)
	for range 3 {
		n, err := fmt.Fprintln(r, "line")
		require(t, n == 5 && err == nil, n, err)
		r.Flush(0)
	}
	r.Close()
	compare(t, 1, to.writes)
}
