package kv

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"
)

// documentCommands are the JSON commands, which the library lacks. Sorted by name.
var documentCommands = map[string]composition{
	"JSON.ARRAPPEND": {3, changeValues(2, onList(appendItems))},
	"JSON.ARRINDEX":  {3, inspectValues(2, indexItem)},
	"JSON.ARRINSERT": {4, changeValues(2, onList(insertItems))},
	"JSON.ARRLEN":    {1, inspectValues(1, lengthOf[[]any])},
	"JSON.ARRPOP":    {1, changeValues(1, onList(popItem))},
	"JSON.ARRTRIM":   {4, changeValues(2, onList(trimItems))},
	"JSON.CLEAR":     {1, clearValues},
	"JSON.DEL":       {1, deleteValues},
	"JSON.FORGET":    {1, deleteValues},
	"JSON.GET":       {1, getDocument},
	"JSON.MERGE":     {3, mergeDocument},
	"JSON.MGET":      {2, getDocuments},
	"JSON.MSET":      {3, setDocuments},
	"JSON.NUMINCRBY": {3, changeNumbers(func(a, b float64) float64 { return a + b })},
	"JSON.NUMMULTBY": {3, changeNumbers(func(a, b float64) float64 { return a * b })},
	"JSON.OBJKEYS":   {1, inspectValues(1, keysOf)},
	"JSON.OBJLEN":    {1, inspectValues(1, lengthOf[map[string]any])},
	"JSON.RESP":      {1, inspectValues(1, func(v any, _ []string) any { return respOf(v) })},
	"JSON.SET":       {3, setDocument},
	"JSON.STRAPPEND": {2, appendText},
	"JSON.STRLEN":    {1, inspectValues(1, lengthOf[string])},
	"JSON.TOGGLE":    {2, changeValues(2, toggleValue)},
	"JSON.TYPE":      {1, inspectValues(1, func(v any, _ []string) any { return kindOfValue(v) })},
}

const (
	errNoDocument = failure("ERR could not perform this operation on a key that doesn't exist")
	errNewRoot    = failure("ERR new objects must be created at the root")
)

// opened returns the document, path and matching places of a command. The default path
// is ".".
func (e *embedded) opened(c *connection, args []string) (*document, path, []jp.Expr, any) {
	d, err := e.open(c, args[0])
	if err != nil {
		return nil, path{}, nil, err
	}
	text := "."
	if len(args) > 1 {
		text = args[1]
	}
	p, err := readDocumentPath(text)
	if err != nil || !d.is {
		return d, p, nil, err
	}
	places, err := d.matches(p)
	return d, p, places, err
}

// listed returns the replies as a list; for a path of the older form, only the first.
func (p path) listed(replies []any) any {
	switch {
	case !p.older:
		return replies
	case len(replies) == 0:
		return nil
	}
	return replies[0]
}

// inspectValues replies with about of each value; null without a document.
func inspectValues(pathAt int, about func(v any, rest []string) any) func(*embedded, *connection, []string) any {
	return func(e *embedded, c *connection, args []string) any {
		d, p, places, err := e.opened(c, args)
		if err != nil || !d.is {
			return err
		}
		replies := make([]any, len(places))
		for i, place := range places {
			replies[i] = about(d.at(place), args[min(pathAt, len(args)):])
			if f, failed := replies[i].(failure); failed {
				return f
			}
		}
		return p.listed(replies)
	}
}

func lengthOf[T any](v any, _ []string) any {
	if _, ok := v.(T); !ok {
		return nil
	}
	return int64(reflect.ValueOf(v).Len())
}

func keysOf(v any, _ []string) any {
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	names := []any{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		names = append(names, name)
	}
	return names
}

// indexItem implements JSON.ARRINDEX: the index of a value in a list, or -1.
func indexItem(v any, rest []string) any {
	wanted, err := readDocument(rest[0])
	if err != nil {
		return failure(err.Error())
	}
	limits := []int{0, 0}
	for i, text := range rest[1:] {
		n, err := strconv.Atoi(text)
		if err != nil || i > 1 {
			return errInteger
		}
		limits[i] = n
	}
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	from, to := clampIndex(limits[0], len(list)), len(list)
	if limits[1] != 0 { // 0: to the end
		to = clampIndex(limits[1], len(list))
	}
	for i := from; i < to; i++ {
		if reflect.DeepEqual(list[i], wanted) {
			return int64(i)
		}
	}
	return int64(-1)
}

// clampIndex limits an index, from the end if negative, to the range 0 to n.
func clampIndex(i, n int) int {
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}

// changeValues replaces each value by the result of how, and replies for each.
func changeValues(pathAt int, how func(v any, rest []string) (next, reply any)) func(*embedded, *connection, []string) any {
	return func(e *embedded, c *connection, args []string) any {
		d, p, places, err := e.opened(c, args)
		if err != nil {
			return err
		}
		if !d.is {
			return errNoDocument
		}
		rest := args[min(pathAt, len(args)):]
		if len(args) > 1 && pathAt == 1 {
			rest = args[2:]
		}
		if size := len(strings.Join(rest, "")) * len(places); size > maxDocument {
			return failure("ERR document too large: the value goes to " + strconv.Itoa(len(places)) + " places")
		}
		replies := make([]any, len(places))
		for i, place := range places {
			next, reply := how(d.at(place), rest)
			if f, failed := reply.(failure); failed {
				return f
			}
			d.put(place, next)
			replies[i] = reply
		}
		if f, failed := d.save().(failure); failed {
			return f
		}
		return p.listed(replies)
	}
}

// onList applies a change to lists only; for other values, the reply is null.
func onList(how func(list []any, rest []string) (next []any, reply any)) func(any, []string) (any, any) {
	return func(v any, rest []string) (any, any) {
		list, ok := v.([]any)
		if !ok {
			return v, nil
		}
		return how(list, rest)
	}
}

// readValues reads JSON values; err is a failure.
func readValues(texts []string) (list []any, err any) {
	for _, text := range texts {
		v, err := readDocument(text)
		if err != nil {
			return nil, failure(err.Error())
		}
		list = append(list, v)
	}
	return list, nil
}

func appendItems(list []any, rest []string) ([]any, any) {
	more, err := readValues(rest)
	if err != nil {
		return list, err
	}
	return append(list, more...), int64(len(list) + len(more))
}

// insertItems refuses an index outside the list, as the original does. Trimming and
// popping limit the index instead.
func insertItems(list []any, rest []string) ([]any, any) {
	at, parse := strconv.Atoi(rest[0])
	more, err := readValues(rest[1:])
	switch {
	case parse != nil:
		return list, errInteger
	case err != nil:
		return list, err
	case at > len(list) || at < -len(list):
		return list, failure("ERR index out of bounds")
	}
	return slices.Insert(slices.Clone(list), clampIndex(at, len(list)), more...), int64(len(list) + len(more))
}

func popItem(list []any, rest []string) ([]any, any) {
	at := -1
	if len(rest) > 0 {
		n, err := strconv.Atoi(rest[0])
		if err != nil {
			return list, errInteger
		}
		at = n
	}
	if len(list) == 0 {
		return list, nil
	}
	at = min(clampIndex(at, len(list)), len(list)-1)
	return slices.Delete(slices.Clone(list), at, at+1), writeDocument(list[at])
}

// trimItems returns an empty list, not an error, for bounds that cross.
func trimItems(list []any, rest []string) ([]any, any) {
	from, err := strconv.Atoi(rest[0])
	to, err2 := strconv.Atoi(rest[1])
	if err != nil || err2 != nil {
		return list, errInteger
	}
	from, to = clampIndex(from, len(list)), min(clampIndex(to, len(list)), len(list)-1)
	if from > to {
		return []any{}, int64(0)
	}
	return slices.Clone(list[from : to+1]), int64(to - from + 1)
}

func toggleValue(v any, _ []string) (any, any) {
	switch v {
	case true:
		return false, int64(0)
	case false:
		return true, int64(1)
	}
	return v, nil
}

// changeNumbers replaces numbers by the result of how; the reply is JSON.
func changeNumbers(how func(a, b float64) float64) func(*embedded, *connection, []string) any {
	return func(e *embedded, c *connection, args []string) any {
		operand, err := strconv.ParseFloat(args[2], 64)
		if err != nil || math.IsNaN(operand) || math.IsInf(operand, 0) {
			return failure("ERR value is not a valid float")
		}
		reply := changeValues(2, func(v any, _ []string) (any, any) {
			var f float64
			switch n := v.(type) {
			case int64:
				f = float64(n)
			case float64:
				f = n
			default:
				return v, nil
			}
			f = how(f, operand)
			switch {
			case math.IsInf(f, 0) || math.IsNaN(f):
				return v, failure("ERR result is not a number")
			case f == math.Trunc(f) && math.Abs(f) < 1<<53:
				return int64(f), int64(f)
			}
			return f, f
		})(e, c, args)
		if f, failed := reply.(failure); failed {
			return f
		}
		return writeDocument(reply)
	}
}

// appendText implements JSON.STRAPPEND, whose path is optional.
func appendText(e *embedded, c *connection, args []string) any {
	if len(args) == 2 {
		args = []string{args[0], ".", args[1]}
	}
	return changeValues(2, func(v any, rest []string) (any, any) {
		more, err := readDocument(rest[0])
		text, ok := more.(string)
		if err != nil || !ok {
			return v, failure("ERR value is not a JSON string")
		}
		was, ok := v.(string)
		if !ok {
			return v, nil
		}
		return was + text, int64(len(was) + len(text))
	})(e, c, args)
}

// deleteValues implements JSON.DEL. It replies with the number of deleted values.
func deleteValues(e *embedded, c *connection, args []string) any {
	d, _, places, err := e.opened(c, args)
	if err != nil {
		return err
	}
	if len(places) == 0 {
		return int64(0)
	}
	gone := int64(len(places))
	slices.SortFunc(places, lastFirst)
	for _, place := range places {
		d.remove(place)
	}
	if !d.is {
		c.look("DEL", d.key)
	} else if f, failed := d.save().(failure); failed {
		return f
	}
	return gone
}

// clearValues implements JSON.CLEAR: it empties objects and lists, and zeroes numbers.
func clearValues(e *embedded, c *connection, args []string) any {
	d, _, places, err := e.opened(c, args)
	if err != nil {
		return err
	}
	if !d.is {
		return errNoDocument
	}
	cleared := int64(0)
	for _, place := range places {
		var empty any
		switch d.at(place).(type) {
		case map[string]any:
			empty = map[string]any{}
		case []any:
			empty = []any{}
		case int64, float64:
			empty = int64(0)
		default:
			continue
		}
		if !reflect.DeepEqual(d.at(place), empty) {
			cleared++
		}
		d.put(place, empty)
	}
	if f, failed := d.save().(failure); failed {
		return f
	}
	return cleared
}
