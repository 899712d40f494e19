package certificate_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/certificate"
)

var quiet = slog.New(slog.DiscardHandler)

// made issues a certificate for names in a new folder. It returns the file with
// the certificate and key, and the file of the CA.
func made(t *testing.T, names ...string) (server, ca string) {
	t.Helper()
	folder := t.TempDir()
	_, ca, err := certificate.SelfSigned(names, folder, quiet)
	expect.NoError(t, err)
	return filepath.Join(folder, "server.pem"), ca
}

// leaf returns the certificate that a client receives.
func leaf(t *testing.T, c *certificate.Certificate) *x509.Certificate {
	t.Helper()
	shown, err := c.Config().GetCertificate(&tls.ClientHelloInfo{})
	expect.NoError(t, err)
	return shown.Leaf
}

// read returns the content of a file.
func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	expect.NoError(t, err)
	return text
}

func TestSelfSigned(t *testing.T) {
	t.Parallel()
	names := []string{"localhost", "127.0.0.1", "::1", "understudy.test"}
	folder := filepath.Join(t.TempDir(), "a", "b")
	first, ca, err := certificate.SelfSigned(names, folder, quiet)
	expect.NoError(t, err)
	roots := x509.NewCertPool()
	expect.True(t, "the CA is PEM", roots.AppendCertsFromPEM(read(t, ca)))
	for _, name := range names {
		t.Run("a client that trusts the CA accepts it for "+name, func(t *testing.T) {
			_, err := leaf(t, first).Verify(x509.VerifyOptions{Roots: roots, DNSName: name})
			expect.Nil(t, "error", err)
		})
	}
	t.Run("it is not valid for another name", func(t *testing.T) {
		expect.True(t, "an error for example.com", first.Names("example.com") != nil)
	})
	t.Run("only the owner can read the key", func(t *testing.T) {
		info, err := os.Stat(filepath.Join(folder, "server.pem"))
		expect.NoError(t, err)
		expect.Equal(t, "rights", info.Mode().Perm(), os.FileMode(0o600))
	})
	t.Run("the certificate cannot sign others", func(t *testing.T) {
		expect.True(t, "not a CA", !leaf(t, first).IsCA)
	})
	t.Run("it is kept for fewer names", func(t *testing.T) {
		again, _, err := certificate.SelfSigned(names[:2], folder, quiet)
		expect.Nil(expect.Now(t), "error", err)
		expect.True(t, "the same certificate", leaf(t, again).Equal(leaf(t, first)))
	})
	t.Run("another name makes another", func(t *testing.T) {
		before := leaf(t, first)
		again, _, err := certificate.SelfSigned([]string{"other.test"}, folder, quiet)
		expect.Nil(expect.Now(t), "error", err)
		expect.True(t, "another certificate", !leaf(t, again).Equal(before))
	})
	t.Run("a CA of another certificate makes another", func(t *testing.T) {
		before := leaf(t, first)
		_, foreign := made(t, "localhost")
		expect.NoError(t, os.WriteFile(filepath.Join(folder, "ca.pem"), read(t, foreign), 0o600))
		again, _, err := certificate.SelfSigned([]string{"other.test"}, folder, quiet)
		expect.Nil(expect.Now(t), "error", err)
		expect.True(t, "another certificate", !leaf(t, again).Equal(before))
	})
}

// Servers that start at the same time, such as those of a fleet on one machine,
// use the same certificate.
func TestSelfSignedAtOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	all := make(chan *certificate.Certificate)
	for range 8 {
		go func() {
			c, _, err := certificate.SelfSigned([]string{"localhost"}, folder, quiet)
			expect.Nil(t, "error", err)
			all <- c
		}()
	}
	first := <-all
	for range 7 {
		expect.True(t, "the same certificate", leaf(t, <-all).Equal(leaf(t, first)))
	}
}

// Programs that renew certificates replace the files while the server runs.
func TestRenewal(t *testing.T) {
	t.Parallel()
	old, _ := made(t, "localhost")
	renewed, _ := made(t, "localhost")
	cert, key := filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	put := func(file string, text []byte) {
		t.Helper()
		expect.NoError(t, os.WriteFile(file, text, 0o600))
	}
	put(cert, read(t, old))
	put(key, read(t, old))
	var log bytes.Buffer
	c, err := certificate.FromFiles(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
	expect.NoError(t, err)
	before := leaf(t, c)
	put(cert, read(t, renewed))
	t.Run("a certificate with the wrong key is not used", func(t *testing.T) {
		expect.True(t, "the one before", leaf(t, c).Equal(before))
		expect.True(t, "the one before", leaf(t, c).Equal(before))
	})
	t.Run("the failure is logged once", func(t *testing.T) {
		expect.Equal(t, "lines", bytes.Count(log.Bytes(), []byte("cannot be renewed")), 1)
	})
	put(key, read(t, renewed))
	t.Run("with its key it is used for the next connection", func(t *testing.T) {
		expect.True(t, "another", !leaf(t, c).Equal(before))
		expect.Equal(t, "lines", bytes.Count(log.Bytes(), []byte("certificate renewed")), 1)
	})
	t.Run("removed files change nothing", func(t *testing.T) {
		now := leaf(t, c)
		expect.NoError(t, os.Remove(key))
		expect.True(t, "the same", leaf(t, c).Equal(now))
	})
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	one, _ := made(t, "localhost")
	other, _ := made(t, "localhost")
	expired := filepath.Join("testdata", "expired.pem")
	for name, row := range map[string]struct{ cert, key, want string }{
		"no certificate file":       {"none.pem", one, "none.pem: no such file"},
		"no key file":               {one, "none.pem", "none.pem: no such file"},
		"the key of another":        {one, other, "private key does not match public key"},
		"no PEM":                    {"certificate_test.go", one, "failed to find any PEM data"},
		"a certificate for the key": {one, filepath.Join(filepath.Dir(one), "ca.pem"), "certificate rather than a key"},
		"expired":                   {expired, expired, "expired.pem: the certificate expired at 2020-01-02T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := certificate.FromFiles(row.cert, row.key, quiet)
			if err == nil {
				t.Fatal("got no error, want one")
			}
			expect.Contains(t, "error", err.Error(), row.want)
		})
	}
}
