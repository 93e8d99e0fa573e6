package e2ereal

import (
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

// Strays are counters of packets of a network namespace to addresses without a listener of the test, by name. In a
// namespace with nothing but the loopback interface every try to reach another machine counts, look-ups of names included.
//
// OutNoRoutes counts the packets and connections without a route. NoPorts are datagrams to a port without a listener:
// look-ups where the name server is a program of this machine (127.0.0.53), which the namespace does not have.
type Strays map[string]int

// ReadStrays reads the counters of the caller's network namespace. They only grow.
func ReadStrays() (Strays, error) {
	snmp, err := os.ReadFile("/proc/self/net/snmp")
	if err != nil {
		return nil, err
	}
	// absent where the kernel has no IPv6
	snmp6, err := os.ReadFile("/proc/self/net/snmp6")
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return parseStrays(string(snmp), string(snmp6))
}

// parseStrays reads the two files of proc(5). The first has a line of names and one of numbers for each
// protocol, the second a name and a number in each line. Without the counters of IPv4 it fails: a check
// that always finds nothing would be none.
func parseStrays(snmp, snmp6 string) (Strays, error) {
	counters := map[string]string{}
	for line := range strings.Lines(snmp6) {
		name, number, _ := strings.Cut(line, " ")
		counters[name] = number
	}
	lines := strings.Split(snmp, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		names, numbers := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		for j := 1; j < min(len(names), len(numbers)); j++ {
			counters[strings.TrimSuffix(names[0], ":")+names[j]] = numbers[j]
		}
	}
	found := Strays{}
	for _, name := range []string{"IpOutNoRoutes", "UdpNoPorts", "Ip6OutNoRoutes", "Udp6NoPorts"} {
		n, err := strconv.Atoi(strings.TrimSpace(counters[name]))
		if err == nil {
			found[name] = n
		} else if !strings.Contains(name, "6") {
			return nil, fmt.Errorf("no counter %s among those of the network namespace", name)
		}
	}
	return found, nil
}
