package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/understudy-mock/understudy/engine/clock"
)

const (
	lifetime = 800 * 24 * time.Hour // some systems refuse more than 825 days
	minLeft  = 90 * 24 * time.Hour  // minimum validity of a kept certificate when a server starts
	early    = time.Hour            // clocks of clients may be slow
)

// The files of the folder. Clients trust the CA; the server file contains the
// certificate and its key.
const (
	caFile     = "ca.pem"
	serverFile = "server.pem"
	lockFile   = "lock"
)

// SelfSigned returns a certificate for host names and IP addresses, which it keeps
// in a folder. It issues a new one when there is none, or when the existing one
// lacks a name or expires within 90 days. It returns the file of the CA, which
// clients must trust.
//
// The key of the CA is discarded, so that no one can issue further certificates
// that these clients trust.
func SelfSigned(names []string, folder string, log *slog.Logger) (c *Certificate, ca string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil { // clients read the CA; the key has rights of its own
		return nil, "", err
	}
	lock := flock.New(filepath.Join(folder, lockFile)) // servers that start at the same time share the certificate of the first
	if err := lock.Lock(); err != nil {
		return nil, "", err
	}
	defer func() { _ = lock.Close() }() // if this fails, the lock ends with the process
	ca, server := filepath.Join(folder, caFile), filepath.Join(folder, serverFile)
	if c, err := FromFiles(server, server, log); err == nil && c.serves(names, ca) {
		return c, ca, nil
	}
	if err := issue(names, ca, server); err != nil {
		return nil, "", err
	}
	log.Info("certificate made: clients must trust its CA", "ca", ca, "names", names)
	c, err = FromFiles(server, server, log)
	return c, ca, err
}

// serves reports whether clients that trust a CA accept the certificate for all of
// these names, for at least the time minLeft.
func (c *Certificate) serves(names []string, ca string) bool {
	roots := x509.NewCertPool()
	text, err := os.ReadFile(ca)
	if err != nil || !roots.AppendCertsFromPEM(text) {
		return false
	}
	leaf := c.current().Leaf
	for _, name := range names {
		if leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: c.wall.Now().Add(minLeft)})
	return err == nil
}

// issue creates a CA and a certificate, and writes both files.
func issue(names []string, ca, server string) error {
	now := clock.NewReal().Now()
	root := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Understudy, CA of one server, made " + now.UTC().Format(time.DateTime)},
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	leaf := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Understudy"},
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	rootBytes, err := signed(root, root, now, &rootKey.PublicKey, rootKey)
	if err != nil {
		return err
	}
	if root, err = x509.ParseCertificate(rootBytes); err != nil { // parsed, it has the key id that strict clients require
		return err
	}
	leafBytes, err := signed(leaf, root, now, &leafKey.PublicKey, rootKey)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return err
	}
	text := append(block("CERTIFICATE", leafBytes), block("PRIVATE KEY", key)...)
	if err := replace(ca, block("CERTIFICATE", rootBytes), 0o644); err != nil {
		return err
	}
	return replace(server, text, 0o600)
}

// signed returns a signed certificate in DER.
func signed(of, by *x509.Certificate, now time.Time, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	of.SerialNumber = serial.Add(serial, big.NewInt(1)) // zero is not allowed
	of.NotBefore, of.NotAfter = now.Add(-early), now.Add(lifetime)
	return x509.CreateCertificate(rand.Reader, of, by, public, key)
}

// block encodes one block of a PEM file.
func block(kind string, bytes []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
}

// replace writes a file atomically.
func replace(name string, text []byte, rights os.FileMode) error {
	part := name + ".part"
	if err := os.WriteFile(part, text, rights); err != nil {
		return err
	}
	return os.Rename(part, name)
}
