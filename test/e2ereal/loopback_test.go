package e2ereal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	snmp = `Ip: Forwarding DefaultTTL InReceives OutDiscards OutNoRoutes ReasmTimeout
Ip: 2 64 44858 7 3 0
Udp: InDatagrams NoPorts InErrors
Udp: 11 5 0
`
	snmp6 = `Ip6InReceives                   	9
Ip6OutNoRoutes                  	1
Ip6InNoRoutes                   	8
Udp6NoPorts                     	2
UdpLite6NoPorts                 	4
`
)

func TestParseStrays(t *testing.T) {
	cases := []struct {
		name, snmp, snmp6 string
		want              Strays
		fails             bool
	}{
		{name: "both", snmp: snmp, snmp6: snmp6, want: Strays{"IpOutNoRoutes": 3, "UdpNoPorts": 5, "Ip6OutNoRoutes": 1, "Udp6NoPorts": 2}},
		{name: "no IPv6", snmp: snmp, want: Strays{"IpOutNoRoutes": 3, "UdpNoPorts": 5}},
		{name: "nothing at all", fails: true},
		{name: "names without numbers", snmp: "Ip: OutNoRoutes\nUdp: NoPorts\n", fails: true},
		{name: "no counter of routes", snmp: "Ip: Forwarding\nIp: 2\nUdp: NoPorts\nUdp: 0\n", snmp6: snmp6, fails: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseStrays(c.snmp, c.snmp6)
			if (err != nil) != c.fails {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseStrays(f *testing.F) {
	f.Add(snmp, snmp6)
	f.Add("Ip: a b\nIp: 1\n", "")
	f.Fuzz(func(t *testing.T, snmp, snmp6 string) {
		got, err := parseStrays(snmp, snmp6)
		if err != nil && got != nil {
			t.Errorf("an error, %v, and yet %v", err, got)
		}
	})
}
