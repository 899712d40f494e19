package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
)

// Certificate is the certificate of a server. It is safe for concurrent use.
type Certificate struct {
	cert, key string // names of the files; "": never renewed
	log       *slog.Logger
	wall      *clock.Real

	mu      sync.Mutex // guards what follows
	shown   *tls.Certificate
	version [2]stamp
	trouble string // why the newest files are not used, "" when they are
}

// stamp identifies a version of a file.
type stamp struct {
	changed time.Time
	size    int64
}

// FromFiles reads a certificate with its chain, and its key, from PEM files. When
// the files change, new connections use the new certificate.
func FromFiles(cert, key string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, log: log, wall: clock.NewReal()}
	err := c.read()
	return c, err
}

// Config returns the TLS configuration for listeners.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current(), nil
		},
	}
}

// Names returns why clients refuse the certificate for a host name or an IP
// address; nil when they accept it.
func (c *Certificate) Names(host string) error { return c.current().Leaf.VerifyHostname(host) }

// current returns the certificate, read again if the files have changed. While
// they cannot be used, for example half written, the previous one stays in use.
func (c *Certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cert == "" {
		return c.shown
	}
	version, err := c.stamps()
	if err == nil && version == c.version {
		return c.shown
	}
	if err == nil {
		err = c.load(version)
	}
	switch {
	case err == nil:
		c.trouble = ""
		c.log.Info("certificate renewed", "file", c.cert, "expires", c.shown.Leaf.NotAfter.UTC())
	case err.Error() != c.trouble:
		c.trouble = err.Error()
		c.log.Error("the certificate cannot be renewed, the one before stays in use", "error", err, "expires", c.shown.Leaf.NotAfter.UTC())
	}
	return c.shown
}

// read reads the files for the first time.
func (c *Certificate) read() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	version, err := c.stamps()
	if err != nil {
		return err
	}
	return c.load(version)
}

// stamps returns the versions of the two files.
func (c *Certificate) stamps() (both [2]stamp, err error) {
	for i, name := range []string{c.cert, c.key} {
		file, err := os.Stat(name)
		if err != nil {
			return both, err
		}
		both[i] = stamp{file.ModTime(), file.Size()}
	}
	return both, nil
}

// load reads the files. It replaces the certificate only if the new one is valid
// now.
func (c *Certificate) load(version [2]stamp) error {
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", c.cert, c.key, err)
	}
	if err := validAt(pair.Leaf, c.wall.Now()); err != nil {
		return fmt.Errorf("%s: %w", c.cert, err)
	}
	c.shown, c.version = &pair, version
	return nil
}

// validAt refuses a certificate that has expired or is not valid yet.
func validAt(leaf *x509.Certificate, now time.Time) error {
	switch {
	case now.After(leaf.NotAfter):
		return errors.New("the certificate expired at " + leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return errors.New("the certificate is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}
