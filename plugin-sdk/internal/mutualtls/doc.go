// Package mutualtls secures the socket between the kernel and a plugin, as AutoMTLS of go-plugin does.
// Each end has a certificate for itself. The kernel's is in an environment variable, the plugin's is
// the sixth field of its handshake line. Either end also works with go-plugin's own code at the other.
//
// The keys are of the curve P-256. Those of go-plugin are of P-521, for which Go has no assembly and
// which cost a short session much of its processor time.
package mutualtls
