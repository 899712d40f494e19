// Package certificate provides the TLS certificate of a server: from files, which
// it reads again when they change, or self-signed.
//
//	c, err := certificate.FromFiles("tls.crt", "tls.key", log)
//	listener = tls.NewListener(listener, c.Config())
//
// It does not authenticate clients: they need no certificate.
package certificate
