// Package query parses and matches search queries: one line of words and filters.
//
//	q, err := query.Parse(`"blue shoes" state:failed path:/orders label:shop since:1h`, query.Reader{Now: now})
//	hit, ok := q.Match(&item) // an engine.SearchItem
//
//	line ── parse.go: words and filters ── match.go: fields of an item ── text.go: words, excerpts
//
// A word matches, regardless of case, anywhere in an id, a URL, a label, a name, a header
// value, a body, an answer or an error, as it was sent: nothing is decoded. A filter is
// key:value. One of the values of a key, separated by commas or given in repeated filters,
// must match. All words and all keys must match. Quotation marks allow spaces and colons in
// a text. An error for an unknown key lists the known keys.
//
// Credentials are masked before a text counts as found, so that a search does not reveal
// what the views hide. The package reads no account: callers iterate over the lists.
package query
