package mockserver

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// localClient sends requests of a process to its own server. It does not verify
// the certificate, which the same process presents.
func localClient(s *Server) *http.Client {
	if s.cfg.TLS == nil {
		return http.DefaultClient
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}}
}

// postPublish publishes and returns the message id.
func postPublish(client *http.Client, url string, h http.Header, body []byte) (string, error) {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header = h
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var receipt struct{ MessageID, Error string }
	if err := json.Unmarshal(answer, &receipt); err != nil || receipt.MessageID == "" {
		return "", fmt.Errorf("%s: %s", response.Status, answer)
	}
	return receipt.MessageID, nil
}
