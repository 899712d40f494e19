package fleet

import (
	"crypto/tls"
	"crypto/x509"
)

// Trust sets the CAs for verifying other members, instead of those of the system. It must
// be called before the first request, with the results of reading them; it returns err.
func (f *Fleet) Trust(roots *x509.CertPool, err error) error {
	if err == nil {
		f.transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	}
	return err
}
