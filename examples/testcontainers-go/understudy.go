// Package shop shows how to test with the stand-in in a container.
package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	port         = "8080/tcp"
	controlToken = "control" // without a token, the control API is closed to other machines
)

// Understudy is the stand-in in a container.
type Understudy struct {
	URL, Token string

	container testcontainers.Container
}

// Delivery is an attempt to deliver a message.
type Delivery struct {
	URL     string
	Request struct{ Body string }
}

// StartUnderstudy starts the stand-in. environment sets flags of `understudy serve`, such
// as UNDERSTUDY_CLOCK.
func StartUnderstudy(ctx context.Context, image string, environment map[string]string) (*Understudy, error) {
	u := &Understudy{Token: "test-token"}
	env := map[string]string{"UNDERSTUDY_ACCOUNT": "test:" + u.Token, "UNDERSTUDY_CONTROL_TOKEN": controlToken}
	maps.Copy(env, environment)
	container, err := testcontainers.Run(ctx, image,
		testcontainers.WithEnv(env),
		testcontainers.WithExposedPorts(port),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/_understudy/readyz").WithPort(port)),
	)
	if err != nil {
		return nil, err
	}
	u.container = container
	u.URL, err = container.PortEndpoint(ctx, port, "http")
	return u, err
}

// Advance moves the clock by a duration such as 1h. When it returns, everything that was
// due is delivered.
func (u *Understudy) Advance(ctx context.Context, by string) error {
	return u.control(ctx, http.MethodPost, "clock/advance", map[string]string{"by": by}, nil)
}

// Deliveries are the attempts so far.
func (u *Understudy) Deliveries(ctx context.Context) ([]Delivery, error) {
	var answer struct{ Entries []Delivery }
	err := u.control(ctx, http.MethodGet, "deliveries", nil, &answer)
	return answer.Entries, err
}

// Stop removes the container.
func (u *Understudy) Stop(ctx context.Context) error { return u.container.Terminate(ctx) }

func (u *Understudy) control(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, u.URL+"/_understudy/"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if body == nil {
		request.Body = http.NoBody
	}
	request.Header.Set("Authorization", "Bearer "+controlToken)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
