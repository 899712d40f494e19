package messaging

import (
	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// okText is the answer of the management API: the JSON string "OK" (decided: 11).
var okText = response.Response{Body: "OK"}

func (a *API) createSearchIndex(c *request.Call) (any, error) {
	var body api.SearchIndexCreate
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	index, err := engine.ChangeSearch(c.Account, search.CreateCommand{Index: search.Index{Name: body.Name, Region: string(body.Region), Type: string(body.Type)}})
	return searchIndexBody(index, c.Tenant.Username()), err
}

func (a *API) listSearchIndexes(c *request.Call) (any, error) {
	return response.List(c.Account.SearchIndexes().List(), func(x *search.Index) api.SearchIndex { return searchIndexBody(*x, c.Tenant.Username()) }), nil
}

func (a *API) getSearchIndex(c *request.Call) (any, error) {
	index, err := c.Account.SearchIndexes().Get(c.Vars["id"])
	return searchIndexBody(index, c.Tenant.Username()), err
}

func (a *API) renameSearchIndex(c *request.Call) (any, error) {
	var body struct{ Name string }
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	_, err := engine.ChangeSearch(c.Account, search.RenameCommand{ID: c.Vars["id"], Name: body.Name})
	return okText, err
}

func (a *API) resetSearchIndexTokens(c *request.Call) (any, error) {
	_, err := engine.ChangeSearch(c.Account, search.ResetTokensCommand{ID: c.Vars["id"]})
	return okText, err
}

// deleteSearchIndex is the only operation on search indexes in the interface
// document.
func (a *API) deleteSearchIndex(c *request.Call) (any, error) {
	_, err := engine.ChangeSearch(c.Account, search.DeleteCommand{ID: c.Vars["id"]})
	return okText, err
}

// searchIndexBody is a search index; customer is the user name of the management API.
func searchIndexBody(i search.Index, customer string) api.SearchIndex {
	created := int(i.CreatedAt.Unix())
	return api.SearchIndex{
		Id: i.ID, Name: i.Name, Region: i.Region, Type: i.Type,
		CreatedAt: response.Millis(i.CreatedAt), CreationTime: &created, CustomerId: &customer,
		Token: response.Optional(i.Token), ReadOnlyToken: response.Optional(i.ReadOnlyToken),
	}
}
