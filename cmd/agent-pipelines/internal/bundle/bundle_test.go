package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/bundle"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// The archive contains files of every form and size unchanged except for their secrets.
func TestWrite(t *testing.T) {
	const secret = "correct-horse-battery"
	long := strings.Repeat("a long line without anything\n", 40_000)
	for _, tt := range []struct {
		name, text, want string
		redacted, binary bool
	}{
		{name: "plain.md", text: "nothing", want: "nothing"},
		{name: "empty.md"},
		{name: "empty.json"},
		{name: "empty.jsonl"},
		{name: "long.md", text: long + secret + "\n" + long, want: long + "[REDACTED]\n" + long, redacted: true},
		{name: "lines.jsonl", text: `{"a":"x"}` + "\n" + `{"a":"` + secret + `"}` + "\n", want: `{"a":"x"}` + "\n" + `{"a":"[REDACTED]"}` + "\n", redacted: true},
		{name: "torn.jsonl", text: `{"a":"x"}` + "\n" + `{"b`, want: `{"a":"x"}` + "\n" + `{"b`},
		{name: "doc.json", text: `{"a": ["` + secret + `"]}`, want: `{"a": ["[REDACTED]"]}`, redacted: true},
		{name: "broken.json", text: `{"a": `, want: `{"a": `},
		{name: "picture", text: "\x00" + secret, want: "\x00" + secret, binary: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spool, err := os.Create(filepath.Join(t.TempDir(), "spool"))
			if err != nil {
				t.Fatal(err)
			}
			defer spool.Close()
			var out bytes.Buffer
			m := bundle.Manifest{Session: "s"}
			root := fstest.MapFS{tt.name: {Data: []byte(tt.text)}}
			if err := bundle.Write(&out, root, &m, redact.New([]string{"DEPLOY_TOKEN=" + secret}), spool); err != nil {
				t.Fatal(err)
			}
			if len(m.Files) != 1 || m.Files[0].Redacted != tt.redacted || m.Files[0].Binary != tt.binary || m.Files[0].Size != int64(len(tt.want)) {
				t.Errorf("%+v", m.Files)
			}
			if got := unpacked(t, &out)["s/"+tt.name]; got != tt.want {
				t.Errorf("got %d bytes: %.200q, want %.200q", len(got), got, tt.want)
			}
		})
	}
}

func unpacked(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
	}
}
