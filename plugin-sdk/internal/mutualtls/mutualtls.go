package mutualtls

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"strings"
	"time"
)

// Variable is go-plugin's environment variable with the kernel's certificate in PEM.
const Variable = "PLUGIN_CLIENT_CERT"

// host is the name in the certificates of both ends, which go-plugin requires.
const host = "localhost"

// Kernel returns the kernel's TLS configuration for one plugin process and the value of [Variable].
// go-plugin adds the plugin's certificate to the configuration when it reads the handshake line.
func Kernel() (*tls.Config, string, error) {
	own, err := newCertificate()
	if err != nil {
		return nil, "", err
	}
	config := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12, ServerName: host}
	return config, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})), nil
}

// Plugin returns the TLS configuration of a plugin, which accepts only the kernel with the given
// certificate in PEM. The field is the plugin's own certificate for the handshake line.
func Plugin(kernel string) (config *tls.Config, field string, err error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(kernel)) {
		return nil, "", errors.New(Variable + " holds no certificate in PEM")
	}
	own, err := newCertificate()
	if err != nil {
		return nil, "", err
	}
	config = &tls.Config{
		Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12,
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	return config, base64.RawStdEncoding.EncodeToString(own.Certificate[0]), nil
}

// CopyHandshake copies r to w and puts the field of [Plugin] into the first line. go-plugin leaves
// it empty, because it made no certificate itself.
func CopyHandshake(w io.Writer, r io.Reader, field string) error {
	lines := bufio.NewReader(r)
	line, err := lines.ReadString('\n')
	if fields := strings.Split(strings.TrimSuffix(line, "\n"), "|"); err == nil && len(fields) > 5 {
		fields[5] = field
		line = strings.Join(fields, "|") + "\n"
	}
	if _, fault := io.WriteString(w, line); fault != nil {
		return fault
	}
	_, err = lines.WriteTo(w)
	return err
}

// newCertificate returns a certificate that signs itself. Its dates are wide, because it lives no
// longer than the process and the clock of the machine may be set.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(30, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
