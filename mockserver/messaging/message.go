package messaging

import (
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// getMessage shows a message that has not ended; after its end only the log has
// it.
func (a *API) getMessage(c *request.Call) (any, error) {
	m, err := c.Account.Message(c.Vars["messageId"])
	if err != nil {
		return nil, err
	}
	state := api.MessageState(m.State)
	out := api.Message{State: &state, Retried: response.Optional(int(m.Retried)), NextDeliveryTime: response.Millis(m.NextAt.Time())}
	response.CopyFields(&out, Message(&m))
	return out, nil
}

// cancelMessage answers with a count, as the bulk operation does: clients read
// the same field of both.
func (a *API) cancelMessage(c *request.Call) (any, error) {
	return map[string]int{"cancelled": 1}, c.Account.Cancel(c.Vars["messageId"])
}

// cancelMessages cancels what matches when it runs: a message that is published
// at the same time may stay.
func (a *API) cancelMessages(c *request.Call) (any, error) {
	if err := c.MergeBody(); err != nil {
		return nil, err
	}
	n, err := c.Account.CancelMessages(c.Filter())
	return map[string]int{"cancelled": n}, err
}

func (a *API) getSigningKeys(c *request.Call) (any, error) {
	current, next := c.Account.Keys()
	return signingKeys(c, current, next), nil
}

// rotateSigningKeys makes the next key current. Receivers that check both keys
// keep working.
func (a *API) rotateSigningKeys(c *request.Call) (any, error) {
	current, next, err := c.Account.RotateKeys()
	return signingKeys(c, current, next), err
}

// signingKeys shows the keys as the dialect of the call has them: those of the
// development account differ by dialect.
func signingKeys(c *request.Call, current, next string) response.Response {
	return response.Response{Body: api.SigningKeys{Current: c.Dialect.SigningKey(current), Next: c.Dialect.SigningKey(next)}}
}
