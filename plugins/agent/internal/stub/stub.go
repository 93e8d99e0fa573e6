package stub

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program is the variable that names the built program.
const program = "AGENT_TEST_STUBMODEL"

// Main builds the program, runs the tests, and returns their exit code, or 1 if they pass and leaks reports an error.
func Main(m *testing.M, leaks func() error) int {
	dir, err := os.MkdirTemp("", "stubmodel-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "stubmodel")
	if err := errors.Join(build(file), os.Setenv(program, file)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// build builds the program from the Go workspace of this package.
func build(file string) error {
	root, err := os.Getwd()
	for err == nil && root != "/" {
		if _, missing := os.Stat(filepath.Join(root, "go.work")); missing == nil {
			break
		}
		root = filepath.Dir(root)
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", file, "./test/stubmodel/cmd/stubmodel")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build stubmodel: %w\n%s", err, out)
	}
	return nil
}

// Server is a running stub.
type Server struct {
	URL string
}

// Request is a recorded request, with the fields that tests use.
type Request struct {
	Path    string          `json:"path"`
	Prompt  string          `json:"prompt"`
	Side    bool            `json:"side"`
	Fault   string          `json:"fault"`
	Headers http.Header     `json:"headers"`
	Body    json.RawMessage `json:"body"`
}

// Start runs the server until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	cmd := exec.Command(os.Getenv(program))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start stubmodel: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("start stubmodel: %v", err)
	}
	return &Server{URL: strings.TrimSpace(line)}
}

// Script loads a script in stubmodel's JSON format, and returns the base address of its replies.
func (s *Server) Script(t testing.TB, name, script string) string {
	t.Helper()
	request, err := http.NewRequest(http.MethodPut, s.URL+"/__stub/script/"+name, bytes.NewReader([]byte(script)))
	if err != nil {
		t.Fatal(err)
	}
	if answer := s.do(t, request); answer != "" {
		t.Fatalf("script %s: %s", name, answer)
	}
	return s.URL + "/s/" + name
}

// Requests returns the requests that a script has answered, in order.
func (s *Server) Requests(t testing.TB, script string) []Request {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.URL+"/__stub/requests?script="+script, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	var found []Request
	if err := json.Unmarshal([]byte(s.do(t, request)), &found); err != nil {
		t.Fatalf("requests of %s: %v", script, err)
	}
	return found
}

func (s *Server) do(t testing.TB, request *http.Request) string {
	t.Helper()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
