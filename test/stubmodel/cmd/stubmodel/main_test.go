package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServesUntilCancelled(t *testing.T) {
	script := filepath.Join("..", "..", "testdata", "write.script.json")
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	var code int
	var serving sync.WaitGroup
	serving.Go(func() {
		defer writer.Close()
		code = run(ctx, []string{"-script", "w=" + script}, writer, io.Discard)
	})
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post(strings.TrimSpace(line)+"/s/w/v1/messages", "application/json",
		strings.NewReader(`{"model":"m","tools":[{}],"messages":[{"role":"user","content":"RESULT=/r"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), "I will write.") {
		t.Errorf("got %s, error %v", body, err)
	}
	stop()
	serving.Wait()
	if code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestBadArguments(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"unknown flag", []string{"-x"}, 2, "flag provided but not defined"},
		{"no file", []string{"-script", "name"}, 2, "want name=file"},
		{"missing script", []string{"-script", "a=" + bad + ".none"}, 1, "no such file"},
		{"bad script", []string{"-script", "a=" + bad}, 1, "bad.json: script: turns: at least one is needed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			code := run(t.Context(), c.args, io.Discard, &stderr)
			if code != c.code || !strings.Contains(stderr.String(), c.want) {
				t.Errorf("got code %d, %s; want %d, %s", code, stderr.String(), c.code, c.want)
			}
		})
	}
}
