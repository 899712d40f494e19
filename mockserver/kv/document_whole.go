package kv

import (
	"slices"
	"strconv"
	"strings"
)

// setDocument implements JSON.SET.
func setDocument(e *embedded, c *connection, args []string) any {
	condition := strings.ToUpper(strings.Join(args[3:], " "))
	if condition != "" && condition != "NX" && condition != "XX" {
		return errSyntax
	}
	value, parse := readDocument(args[2])
	if parse != nil {
		return failure(parse.Error())
	}
	p, err := readDocumentPath(args[1])
	if err != nil {
		return err
	}
	if d, err := e.open(c, args[0]); len(p.Expr) == 1 && (err != nil || d.is && condition == "" || !d.is && condition != "XX") {
		c.look("DEL", args[0])
		return (&document{e: e, c: c, key: args[0], root: value}).save()
	}
	d, p, places, err := e.opened(c, args)
	switch {
	case err != nil:
		return err
	case !d.is && condition == "XX" && len(p.Expr) == 1:
		return nil
	case !d.is:
		return errNewRoot
	case condition == "NX" && len(places) > 0, condition == "XX" && len(places) == 0:
		return nil
	case len(args[2])*max(len(places), 1) > maxDocument:
		return failure("ERR document too large: the value goes to " + strconv.Itoa(len(places)) + " places")
	}
	for _, place := range places {
		d.put(place, copyValue(value))
	}
	if len(places) == 0 && !d.create(p, value) {
		return nil
	}
	return d.save()
}

// setDocuments implements JSON.MSET. It writes nothing if a value is invalid; after
// another failure, the documents before it stay written.
func setDocuments(e *embedded, c *connection, args []string) any {
	if len(args)%3 != 0 {
		return failure("ERR wrong number of arguments for 'json.mset' command")
	}
	for i := 0; i < len(args); i += 3 {
		if _, err := readDocument(args[i+2]); err != nil {
			return failure(err.Error())
		}
	}
	for part := range slices.Chunk(args, 3) {
		if f, failed := setDocument(e, c, part).(failure); failed {
			return f
		}
	}
	return status("OK")
}

// mergeDocument implements JSON.MERGE, by RFC 7396.
func mergeDocument(e *embedded, c *connection, args []string) any {
	patch, parse := readDocument(args[2])
	if parse != nil {
		return failure(parse.Error())
	}
	d, p, places, err := e.opened(c, args)
	switch {
	case err != nil:
		return err
	case !d.is && len(p.Expr) > 1:
		return errNewRoot
	case !d.is:
		d.root = mergePatch(nil, patch)
		return d.save()
	case len(args[2])*max(len(places), 1) > maxDocument:
		return failure("ERR document too large: the value goes to " + strconv.Itoa(len(places)) + " places")
	case len(places) == 0 && patch != nil:
		d.create(p, mergePatch(nil, patch))
	}
	for _, place := range slices.Backward(places) {
		if patch == nil {
			d.remove(place)
		} else {
			d.put(place, mergePatch(d.at(place), patch))
		}
	}
	if !d.is {
		c.look("DEL", d.key)
		return status("OK")
	}
	return d.save()
}

func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return copyValue(patch)
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = mergePatch(object[name], value)
		}
	}
	return object
}

// getDocument implements JSON.GET. It ignores INDENT, NEWLINE and SPACE, which ask
// for insignificant white space.
func getDocument(e *embedded, c *connection, args []string) any {
	d, err := e.open(c, args[0])
	if err != nil || !d.is {
		return err
	}
	texts := args[1:]
	for len(texts) > 1 && wordSet("INDENT NEWLINE SPACE")[strings.ToUpper(texts[0])] {
		texts = texts[2:]
	}
	if len(texts) == 0 {
		texts = []string{"."}
	}
	object, size, only := map[string]any{}, 0, any(nil)
	for _, text := range texts {
		p, err := readDocumentPath(text)
		if err != nil {
			return err
		}
		places, err := d.matches(p)
		if err != nil {
			return err
		}
		if p.older && len(places) == 0 {
			return failure("ERR Path '" + text + "' does not exist")
		}
		values := make([]any, len(places))
		for i, place := range places {
			values[i] = d.at(place)
			if size += len(writeDocument(values[i])); size > maxReplies {
				return failure(errReplyTooLarge)
			}
		}
		only = p.listed(values)
		object[text] = only
	}
	if len(texts) == 1 {
		return writeDocument(only)
	}
	return writeDocument(object)
}

// getDocuments implements JSON.MGET: null for a key without a document.
func getDocuments(e *embedded, c *connection, args []string) any {
	replies := make([]any, len(args)-1)
	for i, key := range args[:len(args)-1] {
		reply := getDocument(e, c, []string{key, args[len(args)-1]})
		if _, failed := reply.(failure); !failed {
			replies[i] = reply
		}
	}
	return replies
}
