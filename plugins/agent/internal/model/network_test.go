package model

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/stub"
)

func mustParse(t *testing.T, base string) *url.URL {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCheck(t *testing.T) { // K4
	home := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}
	tests := []struct {
		base     string
		networks []netip.Prefix
		want     string // in the error; "" for none
	}{
		{"http://localhost:11434/v1", nil, ""},
		{"http://LOCALHOST.:11434/v1", nil, ""},
		{"http://box.localhost/v1", nil, ""},
		{"http://127.0.0.1:8080/v1", nil, ""},
		{"http://127.9.9.9/v1", nil, ""},
		{"http://[::1]:8080/v1", nil, ""},
		{"http://[::ffff:127.0.0.1]:8080/v1", nil, ""},
		{"unix:///run/model.sock", nil, ""},
		{"http://10.1.2.3/v1", home, ""},
		{"http://[fd00::1]/v1", home, ""},
		{"http://gpu.lan/v1", home, ""}, // the resolved address is checked at connection time
		{"http://10.1.2.3/v1", nil, "not on this machine"},
		{"http://10.2.0.1/v1", home, "not on this machine"},
		{"http://0.0.0.0:8080/v1", nil, "not on this machine"},
		{"http://gpu.lan/v1", nil, "not on this machine"},
		{"http://localhost.example.com/v1", nil, "not on this machine"},
		{"http://127.0.0.1.example.com/v1", nil, "not on this machine"},
		{"http://2130706433/v1", nil, "not on this machine"},
		{"https://api.openai.com/v1", nil, "not on this machine"},
		{"http://me:secret@localhost/v1", nil, "user name or password"},
		{"http://localhost/v1?key=1", nil, "more than a path: remove the query"},
		{"localhost:11434", nil, "not the address of a service"},
		{"ftp://localhost", nil, "not the address of a service"},
		{"http://", nil, "not the address of a service"},
		{"unix://host/run/model.sock", nil, "not the address of a service"},
		{"http://local host", nil, "cannot be read"},
	}
	for _, tt := range tests {
		err := Endpoint{BaseURL: tt.base, Network: NetworkPolicy{Local: true, Mode: "local-only", Networks: tt.networks}}.Check()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s is refused: %v", tt.base, err)
		case tt.want != "" && (failure.KindOf(err) != failure.ConfigInvalid || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", tt.base, err, tt.want)
		case tt.want != "" && strings.Contains(err.Error(), "secret"):
			t.Errorf("the error shows the password: %v", err)
		}
	}
	if err := (Endpoint{BaseURL: "https://api.openai.com/v1"}).Check(); err != nil {
		t.Errorf("mode open refuses a service: %v", err)
	}
}

// nameServer returns a resolver that answers every question for an address with ip.
func nameServer(t *testing.T, ip netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-done })
	answers := func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(dnsAnswer(buffer[:n], ip), from)
		}
	}
	go answers()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// dnsAnswer repeats the question and adds one record of type A. A question of another type gets no record.
func dnsAnswer(question []byte, ip netip.Addr) []byte {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	kind := binary.BigEndian.Uint16(question[end+1:])
	end += 5
	answer := append([]byte{}, question[:end]...)
	binary.BigEndian.PutUint16(answer[2:], 0x8180) // a response without error
	binary.BigEndian.PutUint16(answer[6:], 0)
	binary.BigEndian.PutUint32(answer[8:], 0)
	if kind != 1 {
		return answer
	}
	binary.BigEndian.PutUint16(answer[6:], 1)
	answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4)
	return append(answer, ip.AsSlice()...)
}

func TestDialledAddresses(t *testing.T) { // K4: the name is allowed, its address is not
	server := stub.Start(t)
	server.Script(t, "it", `{"turns":[{"text":"here"}]}`)
	port := mustParse(t, server.URL).Port()
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	tests := []struct {
		name, address string
		want          string
	}{
		{"this machine", "127.0.0.1", ""},
		{"elsewhere", "192.0.2.7", "resolves to 192.0.2.7:" + port},
		{"all interfaces", "0.0.0.0", "resolves to 0.0.0.0:" + port},
	}
	for _, tt := range tests {
		for api, path := range bases {
			t.Run(tt.name+" "+string(api), func(t *testing.T) {
				t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
				reach := NetworkPolicy{Local: true, Mode: "airgapped", Networks: []netip.Prefix{loopback}, resolver: nameServer(t, netip.MustParseAddr(tt.address))}
				e := Endpoint{API: api, BaseURL: "http://gpu.lan:" + port + "/s/it" + path, Network: reach}
				if err := e.Check(); err != nil {
					t.Fatal(err)
				}
				_, err := connect(t, e).Reply(t.Context(), fullRequest, func(string) {})
				var f *Failure
				switch {
				case tt.want == "" && err != nil:
					t.Errorf("refused: %v", err)
				case tt.want != "" && (!errors.As(err, &f) || f.Transient() || f.Err.Kind != failure.ConfigInvalid || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("got %v, want %q", err, tt.want)
				}
			})
		}
	}
}

func TestProxy(t *testing.T) { // K4
	open, local := NetworkPolicy{}, NetworkPolicy{Local: true}
	base := mustParse(t, "http://localhost:1/v1")
	if open.transport(base).Proxy == nil {
		t.Error("mode open ignores the environment's proxy")
	}
	if local.transport(base).Proxy != nil {
		t.Error("a local mode uses the environment's proxy")
	}
}

func TestUnixSocket(t *testing.T) {
	socket := t.TempDir() + "/m.sock"
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			t.Errorf("path %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(`data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\n"))
	})}}
	server.Start()
	t.Cleanup(server.Close)
	e := Endpoint{API: OpenAI, BaseURL: "unix://" + socket, Network: NetworkPolicy{Local: true, Mode: "airgapped"}}
	got, err := connect(t, e).Reply(t.Context(), fullRequest, func(string) {})
	if err != nil || got.Text != "hi" {
		t.Errorf("got %q, error %v", got.Text, err)
	}
}

func TestRedirect(t *testing.T) {
	var asked int
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	for api := range bases {
		_, err := connect(t, Endpoint{API: api, BaseURL: server.URL, Key: "secret"}).Reply(t.Context(), fullRequest, func(string) {})
		if failure.KindOf(err) != failure.ConfigInvalid || !strings.Contains(err.Error(), "redirects to") {
			t.Errorf("%s: got %v", api, err)
		}
	}
	if asked > 0 {
		t.Error("a redirect was followed to another server")
	}
}
