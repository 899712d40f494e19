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
	own       tls.Certificate
	server    tls.Certificate // for this machine
	foreign   tls.Certificate // for this machine, signed by nobody

	mu    sync.Mutex
	other map[string]*tls.Certificate // by host name
}

// newAuthority makes an authority and the certificates of the listeners.
func newAuthority() (*authority, error) {
	a := &authority{other: map[string]*tls.Certificate{}}
	own, err := issue(&x509.Certificate{Subject: pkix.Name{CommonName: "client suite authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}, nil)
	if err != nil {
		return nil, err
	}
	a.own = own
	if a.server, err = serverCertificate(&a.own, "127.0.0.1", "localhost"); err != nil {
		return nil, err
	}
	if a.foreign, err = serverCertificate(nil, "127.0.0.1", "localhost"); err != nil {
		return nil, err
	}
	if a.dir, err = os.MkdirTemp("", "client-suite-"); err != nil {
		return nil, err
	}
	a.file = filepath.Join(a.dir, "ca.pem")
	return a, os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}), 0o600)
}

// serverCertificate makes a certificate of a server for names, signed by the parent.
func serverCertificate(parent *tls.Certificate, names ...string) (tls.Certificate, error) {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: names[0]}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return issue(template, parent)
}

// issue makes a key and its certificate. Without a parent it signs itself.
func issue(template *x509.Certificate, parent *tls.Certificate) (made tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return made, err
	}
	now := harness.Now()
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(now.UnixNano()), now.Add(-time.Hour), now.Add(48*time.Hour)
	issuer, signer := template, any(key)
	if parent != nil {
		issuer, signer = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, signer)
	if err != nil {
		return made, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
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
	c, err := serverCertificate(&a.own, name)
	a.other[name] = &c
	return &c, err
}

// close removes the files.
func (a *authority) close() { _ = os.RemoveAll(a.dir) }
