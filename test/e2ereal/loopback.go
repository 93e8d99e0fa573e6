package e2ereal

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// NetworkVariable set to NetworkHost runs the tests in the machine's own network. They do not check then
// that no packet leaves the loopback interface.
const (
	NetworkVariable = "E2E_NETWORK"
	NetworkHost     = "host"
)

// Strays counts packets of a network namespace to addresses without a listener of the test. In a namespace with
// nothing but the loopback interface every try to reach another machine counts, look-ups of names included.
type Strays struct {
	// NoRoute counts the packets and connections without a route, over IPv4 and IPv6.
	NoRoute int
	// NoPort are datagrams to a port without a listener: look-ups where the name server is a program
	// of this machine (127.0.0.53), which the namespace does not have.
	NoPort int
}

// None reports whether nothing strayed.
func (s Strays) None() bool { return s == Strays{} }

// ReadStrays reads the counters of the caller's network namespace. They only grow.
func ReadStrays() (Strays, error) {
	snmp, err := os.ReadFile("/proc/self/net/snmp")
	if err != nil {
		return Strays{}, err
	}
	// absent where the kernel has no IPv6
	snmp6, err := os.ReadFile("/proc/self/net/snmp6")
	if err != nil && !os.IsNotExist(err) {
		return Strays{}, err
	}
	return parseStrays(string(snmp), string(snmp6))
}

// parseStrays reads the two files of proc(5). The first has a line of names and one of numbers for each
// protocol, the second a name and a number in each line. Without the counters of IPv4 it fails: a check
// that always finds nothing would be none.
func parseStrays(snmp, snmp6 string) (Strays, error) {
	counters := map[string]int{}
	add(counters, snmp6)
	lines := bufio.NewScanner(strings.NewReader(snmp))
	for lines.Scan() {
		protocol, names, _ := strings.Cut(lines.Text(), ":")
		if !lines.Scan() {
			break
		}
		values := strings.Fields(strings.TrimPrefix(lines.Text(), protocol+":"))
		for i, name := range strings.Fields(names) {
			if i < len(values) {
				add(counters, protocol+name+" "+values[i])
			}
		}
	}
	for _, name := range []string{"IpOutNoRoutes", "UdpNoPorts"} {
		if _, ok := counters[name]; !ok {
			return Strays{}, fmt.Errorf("no counter %s among those of the network namespace", name)
		}
	}
	return Strays{
		NoRoute: counters["IpOutNoRoutes"] + counters["Ip6OutNoRoutes"],
		NoPort:  counters["UdpNoPorts"] + counters["Udp6NoPorts"],
	}, lines.Err()
}

// add notes lines of a name and a number.
func add(counters map[string]int, text string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if n, err := strconv.Atoi(fields[1]); err == nil {
			counters[fields[0]] = n
		}
	}
}
