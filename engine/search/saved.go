package search

import "github.com/understudy-mock/understudy/engine/codec"

// Members writes the index to a snapshot, or reads it from one.
func (x *Index) Members(c *codec.Codec) {
	codec.Text(c, "id", &x.ID)
	codec.Text(c, "name", &x.Name)
	codec.Text(c, "region", &x.Region)
	codec.Text(c, "type", &x.Type)
	codec.Time(c, "createdAt", &x.CreatedAt)
	codec.Text(c, "token", &x.Token)
	codec.Text(c, "readOnlyToken", &x.ReadOnlyToken)
}
