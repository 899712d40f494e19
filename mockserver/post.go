package mockserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// postPublish publishes and returns the message id.
func postPublish(url string, h http.Header, body []byte) (string, error) {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header = h
	response, err := http.DefaultClient.Do(r)
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
