package messaging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// numbers are the components of a vector in JSON. They refuse null, which
// JavaScript writes for NaN and infinity.
type numbers []float32

func (n *numbers) UnmarshalJSON(raw []byte) error {
	if at := bytes.Index(raw, []byte("null")); at > 0 {
		return fmt.Errorf("vector component %d is null: must be a finite number", bytes.Count(raw[:at], []byte(",")))
	}
	return json.Unmarshal(raw, (*[]float32)(n))
}

// indices are the indexes of a sparse vector in JSON. They refuse null.
type indices []int32

func (n *indices) UnmarshalJSON(raw []byte) error {
	if bytes.Index(raw, []byte("null")) > 0 {
		return errors.New("sparse vector index null: invalid value: must be an integer of 32 bits")
	}
	return json.Unmarshal(raw, (*[]int32)(n))
}

// sparseBody is a sparse vector in JSON.
type sparseBody struct {
	Indices indices `json:"indices"`
	Values  numbers `json:"values"`
}

func (v *sparseBody) vector() *vector.SparseVector {
	if v == nil {
		return nil
	}
	return &vector.SparseVector{Indices: v.Indices, Values: v.Values}
}

// vectorBody is a vector in JSON. Its id may be a number; responses have a string.
type vectorBody struct {
	ID       *vectorID       `json:"id"`
	Vector   numbers         `json:"vector"`
	Sparse   *sparseBody     `json:"sparseVector"`
	Metadata json.RawMessage `json:"metadata"`
	Data     *string         `json:"data"`
	Mode     string          `json:"metadataUpdateMode"`
}

func (v *vectorBody) vector() vector.Vector {
	if bytes.Equal(v.Metadata, []byte("null")) {
		v.Metadata = nil
	}
	return vector.Vector{ID: string(*v.ID), Values: v.Vector, Sparse: v.Sparse.vector(), Metadata: v.Metadata, Data: v.Data}
}

// vectorID is an id of a vector, which may be a number in JSON.
type vectorID string

// UnmarshalJSON accepts only a string or a number. The string may be empty: a client's test
// suite stores a vector without an id.
func (id *vectorID) UnmarshalJSON(raw []byte) error {
	*id = vectorID(idText(raw))
	if !bytes.ContainsAny(raw[:1], `"-0123456789`) {
		return fmt.Errorf("id: invalid value %s: must be a string or a number", response.Shorten(string(raw)))
	}
	return nil
}

// vectorBodies reads one vector or a list, each with an id.
func vectorBodies(text []byte) ([]vectorBody, error) {
	list, err := request.OneOrMany[vectorBody](text)
	if err == nil {
		err = missingID(list)
	}
	return list, err
}

// missingID returns an error if a vector has no id.
func missingID(list []vectorBody) error {
	for i := range list {
		if list[i].ID == nil {
			return response.Invalid("body /id: missing: must be a string or a number")
		}
	}
	return nil
}

// idText returns the text of a JSON string, or any other JSON as is.
func idText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
