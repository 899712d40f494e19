package main

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/certificate"
	"github.com/understudy-mock/understudy/mockserver/gate"
)

// tlsFlags are the flags of a server with TLS.
type tlsFlags struct {
	TLSCert       string `name:"tls-cert" placeholder:"FILE" help:"Serve TLS with this certificate (PEM, with its chain). Renewed files are used without a restart."`
	TLSKey        string `name:"tls-key" placeholder:"FILE" help:"Private key of --tls-cert (PEM)."`
	TLSSelfSigned bool   `name:"tls-self-signed" help:"Serve TLS with a generated certificate for localhost and the names of this server."`
	TLSDir        string `name:"tls-dir" placeholder:"DIR" help:"Folder for the certificate of --tls-self-signed and its CA. Default: tls in the folder of --data, else a temporary folder."`

	certificate *certificate.Certificate // nil: plain HTTP
	ca          string                   // file of the generated CA, which clients must trust; "": none
	temporary   string                   // folder to remove at the end of the process; "": none
}

// openTLS loads or generates the certificate that the flags describe.
func (c *ServeCmd) openTLS(cfg *mockserver.Config) (err error) {
	switch {
	case c.TLSSelfSigned && (c.TLSCert != "" || c.TLSKey != ""):
		return usageError("--tls-self-signed and --tls-cert: must not be used together")
	case c.TLSDir != "" && !c.TLSSelfSigned:
		return usageError("--tls-dir: must be used with --tls-self-signed")
	case c.TLSCert != "" && c.TLSKey == "":
		return usageError("--tls-cert: must be used with --tls-key FILE, the key of the certificate")
	case c.TLSKey != "" && c.TLSCert == "":
		return usageError("--tls-key: must be used with --tls-cert FILE, the certificate of the key")
	case c.TLSCert != "":
		if c.certificate, err = certificate.FromFiles(c.TLSCert, c.TLSKey, cfg.Log); err != nil {
			return usageError("--tls-cert and --tls-key: %w", err)
		}
	case c.TLSSelfSigned:
		folder, err := c.tlsFolder()
		if err != nil {
			return usageError("--tls-self-signed: %w; --tls-dir DIR names a folder for the certificate", err)
		}
		if c.certificate, c.ca, err = certificate.SelfSigned(certifiedNames(cfg), folder, cfg.Log); err == nil && c.fleet != nil {
			err = c.fleet.Trust(trustedRoots(c.ca))
		}
		if err != nil {
			return usageError("--tls-self-signed: %w", err)
		}
	default:
		return nil
	}
	cfg.TLS, cfg.CAFile = c.certificate.Config(), c.ca
	return nil
}

// tlsFolder is the folder of the certificate. The path is absolute, because clients have
// other working folders.
func (c *ServeCmd) tlsFolder() (string, error) {
	folder := c.TLSDir
	if c.Data != "" && !isCluster(c.Data) {
		folder = cmp.Or(folder, filepath.Join(string(c.Data), "tls"))
	}
	if folder != "" {
		return filepath.Abs(folder)
	}
	var err error
	c.temporary, err = os.MkdirTemp("", "understudy-tls-")
	return c.temporary, err
}

// closeTLS removes the temporary folder.
func (c *ServeCmd) closeTLS() error {
	if c.temporary == "" {
		return nil
	}
	return os.RemoveAll(c.temporary)
}

// certifiedNames are the names and IP addresses at which clients reach the server.
func certifiedNames(cfg *mockserver.Config) []string {
	names, everywhere := []string{"localhost", "127.0.0.1", "::1"}, false
	if name, err := os.Hostname(); err == nil {
		names = append(names, gate.HostName(name))
	}
	for _, address := range []string{cfg.Addr, cfg.RegionAddr, cfg.ManagementAddr, cfg.VectorAddr} {
		host, _, err := net.SplitHostPort(address)
		ip := net.ParseIP(host)
		everywhere = everywhere || err == nil && (host == "" || ip.IsUnspecified())
		if host != "" && !ip.IsUnspecified() {
			names = append(names, gate.HostName(address))
		}
	}
	switch {
	case cfg.Advertise != nil:
		names = append(names, gate.HostName(cfg.Advertise.Host))
	case everywhere:
		list, _ := net.InterfaceAddrs() // on error, only loopback addresses are known
		for _, one := range list {
			if n, ok := one.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
				names = append(names, n.IP.String())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// warnOfName warns when the certificate is not valid for the address that the server prints.
func (c *ServeCmd) warnOfName(w io.Writer, s *mockserver.Server) {
	at, err := url.Parse(s.URL())
	if c.certificate == nil || err != nil || c.certificate.Names(at.Hostname()) == nil {
		return
	}
	_, _ = fmt.Fprintf(w, "understudy: WARNING: %s: the certificate is not valid for %s, so clients refuse %s; --advertise https://NAME:PORT prints a name that it holds\n", c.TLSCert, at.Hostname(), at)
}
