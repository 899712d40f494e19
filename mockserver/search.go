package mockserver

import (
	"encoding/json"

	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = register(map[string]handler{
	"createSearchIndex":      (*Server).createSearchIndex,
	"deleteSearchIndex":      (*Server).deleteSearchIndex,
	"getSearchIndex":         (*Server).getSearchIndex,
	"listSearchIndexes":      (*Server).listSearchIndexes,
	"renameSearchIndex":      (*Server).renameSearchIndex,
	"resetSearchIndexTokens": (*Server).resetSearchIndexTokens,
})

// done is the answer of the management API: the JSON string "OK" (decided: 11).
var done = reply{body: "OK"}

func (s *Server) createSearchIndex(c *call) (reply, error) {
	var body api.SearchIndexCreate
	if err := json.Unmarshal(c.body, &body); err != nil {
		return reply{}, invalid("body: " + err.Error())
	}
	index, err := c.account.CreateSearchIndex(search.Index{Name: body.Name, Region: string(body.Region), Type: string(body.Type)})
	return reply{body: s.searchBody(c, index)}, err
}

func (s *Server) listSearchIndexes(c *call) (reply, error) {
	indexes := c.account.SearchIndexes()
	list := make([]api.SearchIndex, len(indexes))
	for i, index := range indexes {
		list[i] = s.searchBody(c, index)
	}
	return reply{body: list}, nil
}

func (s *Server) getSearchIndex(c *call) (reply, error) {
	index, err := c.account.SearchIndex(c.vars["id"])
	return reply{body: s.searchBody(c, index)}, err
}

func (s *Server) renameSearchIndex(c *call) (reply, error) {
	var body struct{ Name string }
	if err := json.Unmarshal(c.body, &body); err != nil {
		return reply{}, invalid("body: " + err.Error())
	}
	return done, c.account.RenameSearchIndex(c.vars["id"], body.Name)
}

func (s *Server) resetSearchIndexTokens(c *call) (reply, error) {
	return done, c.account.ResetSearchIndexTokens(c.vars["id"])
}

func (s *Server) deleteSearchIndex(c *call) (reply, error) {
	return done, c.account.DeleteSearchIndex(c.vars["id"])
}

func (s *Server) searchBody(c *call, i search.Index) api.SearchIndex {
	created := int(i.CreatedAt.Unix())
	customer := c.world.username()
	return api.SearchIndex{
		Id: i.ID, Name: i.Name, Region: i.Region, Type: i.Type,
		CreatedAt: ms(i.CreatedAt), CreationTime: &created, CustomerId: &customer,
		Token: some(i.Token), ReadOnlyToken: some(i.ReadOnlyToken),
	}
}
