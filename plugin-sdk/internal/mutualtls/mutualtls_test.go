package mutualtls

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"strings"
	"testing"
)

// handshake connects the two ends and returns what each says.
func handshake(kernel, plugin *tls.Config) (atKernel, atPlugin error) {
	a, b := net.Pipe()
	defer a.Close()
	done := make(chan error, 1)
	go func() {
		defer b.Close()
		server := tls.Server(b, plugin)
		err := server.Handshake()
		if err == nil {
			_, err = io.WriteString(server, "hello")
		}
		done <- err
	}()
	client := tls.Client(a, kernel)
	_, atKernel = io.ReadFull(client, make([]byte, 5))
	_ = a.Close()
	return atKernel, <-done
}

// trust does what go-plugin does with the field of the handshake line.
func trust(t *testing.T, kernel *tls.Config, field string) {
	t.Helper()
	der, err := base64.RawStdEncoding.DecodeString(field)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	kernel.RootCAs = x509.NewCertPool()
	kernel.RootCAs.AddCert(certificate)
}

func TestOnlyTheTwoEndsConnect(t *testing.T) {
	kernel, variable, err := Kernel()
	if err != nil {
		t.Fatal(err)
	}
	plugin, field, err := Plugin(variable)
	if err != nil {
		t.Fatal(err)
	}
	trust(t, kernel, field)
	if atKernel, atPlugin := handshake(kernel, plugin); atKernel != nil || atPlugin != nil {
		t.Errorf("the two ends: %v, %v", atKernel, atPlugin)
	}
	other, otherVariable, err := Kernel()
	if err != nil {
		t.Fatal(err)
	}
	trust(t, other, field)
	if _, atPlugin := handshake(other, plugin); atPlugin == nil {
		t.Error("the plugin accepted another kernel")
	}
	if _, atPlugin := handshake(&tls.Config{ServerName: host, RootCAs: other.RootCAs}, plugin); atPlugin == nil {
		t.Error("the plugin accepted a client without a certificate")
	}
	impostor, _, err := Plugin(otherVariable)
	if err != nil {
		t.Fatal(err)
	}
	if atKernel, _ := handshake(kernel, impostor); atKernel == nil {
		t.Error("the kernel accepted another plugin")
	}
}

func TestPluginWithoutCertificate(t *testing.T) {
	if _, _, err := Plugin("no PEM"); err == nil || !strings.Contains(err.Error(), Variable) {
		t.Error(err)
	}
}

func TestCopyHandshake(t *testing.T) {
	for _, tt := range []struct{ in, out string }{
		{"1|1|unix|/s|grpc|\nrest\n", "1|1|unix|/s|grpc|FIELD\nrest\n"},
		{"1|1|unix|/s|grpc||true\n", "1|1|unix|/s|grpc|FIELD|true\n"},
		{"another line\n", "another line\n"},
		{"1|1|unix|/s|grpc|", "1|1|unix|/s|grpc|"}, // the process ended while it wrote
		{"", ""},
	} {
		var out strings.Builder
		if err := CopyHandshake(&out, strings.NewReader(tt.in), "FIELD"); err != nil || out.String() != tt.out {
			t.Errorf("%q: %q, %v; want %q", tt.in, out.String(), err, tt.out)
		}
	}
}
