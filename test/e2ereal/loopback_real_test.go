//go:build e2ereal && linux

package e2ereal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// strayVariable names the entry of tries that a copy of this program runs in its own namespace.
const strayVariable = "E2E_STRAY"

// tries are attempts to leave the loopback interface, and two that do not leave it. The addresses are for documentation
// (RFC 5737, RFC 3849).
var tries = map[string]func(ctx context.Context) error{
	"nothing": func(context.Context) error { return nil },
	"loopback": func(ctx context.Context) error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer listener.Close()
		return dial(ctx, "tcp", listener.Addr().String())
	},
	"ipv4": func(ctx context.Context) error { return wantRefused(dial(ctx, "tcp", "192.0.2.1:443")) },
	"ipv6": func(ctx context.Context) error { return wantRefused(dial(ctx, "tcp", "[2001:db8::1]:443")) },
	"udp":  func(ctx context.Context) error { return wantRefused(dial(ctx, "udp", "192.0.2.1:53")) },
	"name": func(ctx context.Context) error {
		_, err := net.DefaultResolver.LookupHost(ctx, "api.example.com")
		return wantRefused(err)
	},
}

// wantRefused turns a failed try into a success, so that only the counters can show it.
func wantRefused(err error) error {
	if err == nil {
		return errors.New("it worked")
	}
	return nil
}

func dial(ctx context.Context, network, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// TestRealLoopbackCheck checks that an attempt to leave the loopback interface is counted, and that other traffic is
// not.
func TestRealLoopbackCheck(t *testing.T) {
	if method := os.Getenv(strayVariable); method != "" {
		stray(t, method)
		return
	}
	if !Inside() {
		t.Logf("%s=%s: not checked", NetworkVariable, NetworkHost)
		return
	}
	for method := range tries {
		t.Run(method, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRealLoopbackCheck$", fmt.Sprintf("-smoke=%t", *smoke)) // with the same -smoke the copy needs no CLI that is not installed
			cmd.Env = append(os.Environ(), strayVariable+"="+method)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
			out, err := cmd.CombinedOutput()
			stays := method == "nothing" || method == "loopback"
			if (err == nil) != stays {
				t.Errorf("the copy ended with %v:\n%s", err, out)
			}
			if found := strings.Contains(string(out), "something tried to leave the loopback interface"); found == stays {
				t.Errorf("the copy said:\n%s", out)
			}
		})
	}
}

// stray makes one of the attempts of tries.
func stray(t *testing.T, method string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	check(t, tries[method](ctx))
}
