package failure_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestSystemFailures(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}
	for name, tt := range map[string]struct {
		err  error
		hint string // part of the hint, "" for none
	}{
		"nothing":                  {nil, ""},
		"another error":            {errors.New("no space left on device"), ""},
		"a missing file":           {os.ErrNotExist, ""},
		"a full disk":              {full, "free some space"},
		"in a failure":             {failure.New(failure.StateCorrupt, "keep it: %w", full), "free some space"},
		"in a failure of failures": {fmt.Errorf("stage a: %w", failure.New(failure.ResultInvalid, "x: %w", errors.Join(errors.New("y"), full))), "free some space"},
		"descriptors":              {os.NewSyscallError("pipe2", syscall.EMFILE), "ulimit -n"},
		"descriptors of all":       {syscall.ENFILE, "files to open"},
		"memory":                   {syscall.ENOMEM, "memory"},
		"only for reading":         {syscall.EROFS, "can only be read"},
		"a quota":                  {syscall.EDQUOT, "quota"},
		"a bad disk":               {syscall.EIO, "system's log"},
	} {
		t.Run(name, func(t *testing.T) {
			hint, yes := failure.SystemHint(tt.err)
			if yes != (tt.hint != "") || !strings.Contains(hint, tt.hint) {
				t.Errorf("%q, %v", hint, yes)
			}
		})
	}
}

func TestRender(t *testing.T) {
	hint := failure.Next("resume", "s").String() + " with " + failure.Option("max_cycles")
	for program, want := range map[string]string{"prog": "prog resume s with --max-cycles", "": "resume s with max-cycles"} {
		if got := failure.Render(hint, program); got != want {
			t.Errorf("%q: %q, want %q", program, got, want)
		}
	}
}

// AUDIT F6: no text of a plugin looks like several lines of the program that prints it.
func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain text": "plain text", "a\nError: b\r\n": "a Error: b", "\x1b[2Jx\x00\u2028y\u0085": "[2Jx y", "": "", "a\u202eb\xff": "a b\uFFFD",
		strings.Repeat("é", 2048): strings.Repeat("é", (2048-3)/2) + "…",
	} {
		if got := failure.OneLine(in); got != want {
			t.Errorf("%.20q became %.80q", in, got)
		}
	}
}
