package messaging

import (
	"encoding/json"
	"fmt"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// updateURLGroup sets default headers. Configuration headers are read by the
// option table of a publish; all others are sent with every request to the
// group.
func (a *API) updateURLGroup(c *request.Call) (any, error) {
	var body struct {
		Headers map[string]json.RawMessage `json:"headers"`
	}
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	headers, err := request.ReadHeaders(body.Headers)
	if err != nil {
		return nil, err
	}
	r := engine.PublishRequest{}
	if err := a.Configure(c, &r, request.SettingsOf(headers)); err != nil {
		return nil, err
	}
	r.Options.Hops, r.Options.Family, r.Options.TraceContext = 0, "", "" // defaults apply to every publish, not only to those caused by a delivery
	g, err := c.Account.UpdateGroup(c.Vars["urlGroupName"], engine.Header(headers), request.PlainHeaders(headers), r.Options)
	return groupBody(&g), err
}

// addURLGroupEndpoints creates the group when it is new. An endpoint with a known
// name or URL is replaced.
func (a *API) addURLGroupEndpoints(c *request.Call) (any, error) {
	endpoints, err := readEndpoints(c, true)
	if err != nil {
		return nil, err
	}
	g, err := c.Account.AddEndpoints(c.Vars["urlGroupName"], endpoints)
	return groupBody(&g), err
}

// removeURLGroupEndpoints finds endpoints by name or URL. Removing the last
// endpoint deletes the group.
func (a *API) removeURLGroupEndpoints(c *request.Call) (any, error) {
	endpoints, err := readEndpoints(c, false)
	if err != nil {
		return nil, err
	}
	return response.Empty, c.Account.RemoveEndpoints(c.Vars["urlGroupName"], endpoints)
}

// readEndpoints reads the endpoints of the body; new ones need a URL.
func readEndpoints(c *request.Call, needURL bool) ([]engine.Endpoint, error) {
	var body struct {
		Endpoints []engine.Endpoint `json:"endpoints"`
	}
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	for i, e := range body.Endpoints {
		if needURL && e.URL == "" {
			return nil, response.Invalid(fmt.Sprintf("body /endpoints/%d/url: missing: must be http(s)://host[:port]/path", i))
		}
		if needURL {
			if err := request.CheckURL("body", fmt.Sprintf("/endpoints/%d/url", i), e.URL); err != nil {
				return nil, err
			}
		} else if e.URL == "" && e.Name == "" {
			return nil, response.Invalid(fmt.Sprintf("body /endpoints/%d: neither name nor url: must have one of them", i))
		}
	}
	return body.Endpoints, nil
}

func (a *API) listURLGroups(c *request.Call) (any, error) {
	return response.List(c.Account.Groups(), groupBody), nil
}

func (a *API) getURLGroup(c *request.Call) (any, error) {
	g, err := c.Account.Group(c.Vars["urlGroupName"])
	return groupBody(&g), err
}

// deleteURLGroup succeeds for a group that does not exist: clients delete
// without checking first when they clean up.
func (a *API) deleteURLGroup(c *request.Call) (any, error) {
	return response.Empty, c.Account.DeleteGroup(c.Vars["urlGroupName"])
}

// headerMap is a header on the wire, absent when empty.

// groupBody is a URL group with its endpoints and default headers.
func groupBody(g *engine.Group) api.URLGroup {
	return api.URLGroup{
		Name:      g.Name,
		CreatedAt: g.CreatedAt.UnixMilli(),
		UpdatedAt: g.UpdatedAt.UnixMilli(),
		Endpoints: response.List(g.Endpoints, func(e *engine.Endpoint) api.Endpoint {
			return api.Endpoint{Name: response.Optional(e.Name), Url: response.Optional(e.URL)}
		}),
		Headers: response.HeaderMap(g.Headers),
	}
}
