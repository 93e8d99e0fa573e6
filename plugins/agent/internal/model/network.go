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

// NetworkPolicy restricts connections. The zero value allows all connections, through the environment's proxy.
type NetworkPolicy struct {
	// Local restricts connections to this machine and Networks, without a proxy.
	Local    bool
	Networks []netip.Prefix
	// Mode is the user's name for the restriction, for messages.
	Mode string

	resolver *net.Resolver // nil: the system's resolver
}

// check examines the address without resolving its host name; control checks resolved addresses at connection time.
func (r NetworkPolicy) check(base *url.URL) error {
	host := strings.TrimSuffix(strings.ToLower(base.Hostname()), ".")
	if !r.Local || base.Scheme == "unix" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return nil
	}
	addr, err := netip.ParseAddr(host)
	if err == nil && r.allows(addr) || err != nil && len(r.Networks) > 0 {
		return nil
	}
	return r.refuse("the model service %s is not on this machine", base.Host)
}

func (r NetworkPolicy) allows(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return !r.Local || addr.IsLoopback() || slices.ContainsFunc(r.Networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

func (r NetworkPolicy) refuse(format string, args ...any) error {
	return failure.New(failure.ConfigInvalid, "mode "+r.Mode+": "+format, args...).
		WithHint("set base_url to a model on this machine (http://localhost:11434/v1), add its network to local_networks, or choose policy.mode open")
}

// transport returns the transport for connections to base.
func (r NetworkPolicy) transport(base *url.URL) *http.Transport {
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

// control checks each resolved address before any data is sent.
func (r NetworkPolicy) control(network, address string, _ syscall.RawConn) error {
	if network == "unix" || !r.Local {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || !r.allows(at.Addr()) {
		return r.refuse("the model service's name resolves to %s, which is not on this machine", address)
	}
	return nil
}
