package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
)

// authority is the certificate authority of one run. Its certificate is in a file that adapters
// trust.
type authority struct {
	dir, file string
	key       *ecdsa.PrivateKey
	root      *x509.Certificate
	server    tls.Certificate // for this machine
	foreign   tls.Certificate // for this machine, signed by nobody

	mu    sync.Mutex
	other map[string]*tls.Certificate // by host name
}

// newAuthority makes an authority and the certificates of the listeners.
func newAuthority() (*authority, error) {
	a := &authority{other: map[string]*tls.Certificate{}}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client suite authority"}, NotBefore: harness.Now().Add(-time.Hour), NotAfter: harness.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	if a.root, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	if a.server, err = a.issue(a.root, a.key, "127.0.0.1", "localhost"); err != nil {
		return nil, err
	}
	alone, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if a.foreign, err = a.issue(nil, alone, "127.0.0.1", "localhost"); err != nil {
		return nil, err
	}
	if a.dir, err = os.MkdirTemp("", "client-suite-"); err != nil {
		return nil, err
	}
	a.file = filepath.Join(a.dir, "ca.pem")
	return a, os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// issue makes a certificate for names. Without a parent it signs itself.
func (a *authority) issue(parent *x509.Certificate, signer *ecdsa.PrivateKey, names ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(harness.Now().UnixNano()), Subject: pkix.Name{CommonName: names[0]}, NotBefore: harness.Now().Add(-time.Hour), NotAfter: harness.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	if parent == nil {
		parent, key = template, signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// certificate returns the certificate for a host name.
func (a *authority) certificate(name string) (*tls.Certificate, error) {
	if name == "localhost" {
		return &a.server, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.other[name]; c != nil {
		return c, nil
	}
	c, err := a.issue(a.root, a.key, name)
	a.other[name] = &c
	return &c, err
}

// close removes the files.
func (a *authority) close() { _ = os.RemoveAll(a.dir) }
