package tmux

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := parse("%0:@0:812:0::::work:vim: a\tfile\n\n%7:@3:900:1:16::starting-12:pipeline-auth:sh\n%8:@4:901:1:::::pipeline-x\n%9:@4:902:1::9:::x\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Pane{
		{ID: "%0", WindowID: "@0", PID: 812, Session: "work", Window: "vim: a\tfile"},
		{ID: "%7", WindowID: "@3", PID: 900, Dead: true, Status: 16, Mark: "starting-12", Session: "pipeline-auth", Window: "sh"},
		{ID: "%8", WindowID: "@4", PID: 901, Dead: true, Status: Unknown, Window: "pipeline-x"},
		{ID: "%9", WindowID: "@4", PID: 902, Dead: true, Status: 137, Window: "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !got[1].Named("pipeline-auth") || !got[2].Named("pipeline-x") || got[0].Named("pipeline-auth") {
		t.Error("a pane is called by its session's or its window's name")
	}
	for _, bad := range []string{"%0:@0:812", "0:@0:812:0::::work:vim", "%0:0:812:0::::work:vim", "%0:@0:x:0::::work:vim"} {
		if _, err := parse(bad); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
			t.Errorf("%q is read with %v", bad, err)
		}
	}
}

// Parsing a rendered pane returns it unchanged.
func FuzzParse(f *testing.F) {
	f.Add("%0:@0:812:0::::work:vim: a file\n%7:@3:900:1:16::m:pipeline-auth:sh\n%7:@3:900:1::9:m:a:sh\n")
	f.Add("%0:@0:::\n")
	f.Fuzz(func(t *testing.T, text string) {
		panes, err := parse(text)
		if err != nil {
			return
		}
		for _, p := range panes {
			dead, code := 0, ""
			if p.Dead {
				dead = 1
			}
			if p.Status != Unknown {
				code = strconv.Itoa(p.Status)
			}
			again, err := parsePane(fmt.Sprintf("%s:%s:%d:%d:%s::%s:%s:%s", p.ID, p.WindowID, p.PID, dead, code, p.Mark, p.Session, p.Window))
			if diff := cmp.Diff(p, again); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		}
	})
}
