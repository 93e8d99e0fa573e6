package e2ereal

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// NetworkVariable set to NetworkHost runs the tests in the machine's own network. Then they do not check that no packet
// leaves the loopback interface.
const (
	NetworkVariable = "E2E_NETWORK"
	NetworkHost     = "host"
)

// Strays holds counters of a network namespace by name. They count packets to addresses at which the test does not
// listen. In a namespace with nothing but the loopback interface, every attempt to reach another machine counts, and
// every look-up of a name.
//
// OutNoRoutes counts packets and connections without a route. NoPorts counts datagrams to a port without a listener.
// Such a datagram is a look-up if the name server is a program of this machine (127.0.0.53), which the namespace
// lacks.
type Strays map[string]int

// ReadStrays reads the counters of the caller's network namespace. The counters only grow.
func ReadStrays() (Strays, error) {
	snmp, err := os.ReadFile("/proc/self/net/snmp")
	if err != nil {
		return nil, err
	}
	// the file does not exist where the kernel has no IPv6
	snmp6, err := os.ReadFile("/proc/self/net/snmp6")
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return parseStrays(string(snmp), string(snmp6))
}

// parseStrays parses the two files of proc(5). The first has a line of names and one of numbers for each protocol, the
// second a name and a number in each line. Missing counters of IPv4 are an error, because the check would always pass.
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
