package model

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Reach says where connections may go. The zero value lets them go anywhere, by the proxy that the environment names.
type Reach struct {
	// Local keeps them on this machine and in Networks, and lets no proxy come between.
	Local    bool
	Networks []netip.Prefix
	// Mode is what the user called it, for messages.
	Mode string

	resolver *net.Resolver // nil: the system's
}

// check looks at the address alone: whatever its name stands for is looked at when a connection is opened.
func (r Reach) check(base *url.URL) error {
	host := strings.TrimSuffix(strings.ToLower(base.Hostname()), ".")
	if !r.Local || base.Scheme == "unix" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return nil
	}
	addr, err := netip.ParseAddr(host)
	if err == nil && r.allows(addr) || err != nil && len(r.Networks) > 0 {
		return nil
	}
	return r.refusal("the model service %s is not on this machine", base.Host)
}

func (r Reach) allows(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return !r.Local || addr.IsLoopback() || slices.ContainsFunc(r.Networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

func (r Reach) refusal(format string, args ...any) error {
	return failure.New(failure.ConfigInvalid, "mode "+r.Mode+": "+format, args...).
		WithHint("set base_url to a model on this machine (http://localhost:11434/v1), add its network to local_networks, or choose policy.mode open")
}

// transport opens the connections for base.
func (r Reach) transport(base *url.URL) *http.Transport {
	d := &net.Dialer{Timeout: 30 * time.Second, Resolver: r.resolver, Control: r.control}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: d.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second,
	}
	if r.Local || base.Scheme == "unix" {
		t.Proxy = nil
	}
	if base.Scheme == "unix" {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", base.Path) }
	}
	return t
}

// control sees each address after its name was looked up, before anything is sent.
func (r Reach) control(network, address string, _ syscall.RawConn) error {
	if network == "unix" || !r.Local {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || !r.allows(at.Addr()) {
		return r.refusal("the model service's name stands for %s, which is not on this machine", address)
	}
	return nil
}
