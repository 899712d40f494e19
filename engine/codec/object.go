package codec

import (
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// member is a field of a struct.
type member struct {
	name  string
	label string // as text in a document
	depth int    // how deeply it is embedded
	part  int    // the embedded struct that it is in, 0 for the struct itself
	field int
	form  *Form
}

// embedded is a struct in another one, whose fields are members of that one.
type embedded struct {
	part, field int
	pointer     bool
}

// usualParts is how many embedded structs most structs have at most.
const usualParts = 6

// parts appends a struct and the structs that it embeds; a missing one is no valid value.
func (f *Form) parts(list []reflect.Value, v reflect.Value) []reflect.Value {
	list = append(list, v)
	for _, e := range f.embedded {
		in := list[e.part].Field(e.field)
		if e.pointer {
			in = in.Elem()
		}
		list = append(list, in)
	}
	return list
}

// object completes the form of a struct.
func (all *forms) object(f *Form, t reflect.Type) {
	if all.record {
		for i := range t.NumField() {
			if field := t.Field(i); field.IsExported() && field.Tag.Get("journal") != "-" {
				f.add(member{name: field.Name, field: i, form: all.form(field.Type)}, "")
			}
		}
	} else {
		all.document(f, t, 0, 0)
		f.empty = f.allEmpty
	}
	f.write = func(c *Codec, v reflect.Value) {
		c.begin()
		f.writeMembers(c, v)
		c.end()
	}
	f.read = func(c *Codec, v reflect.Value) {
		var few [usualParts]reflect.Value
		parts, next := f.created(few[:0], v), 0
		c.object(func(key []byte) {
			if next = f.at(key, next); next == len(f.members) {
				c.unknown(key)
				return
			}
			f.members[next].read(c, parts)
			next++
		})
	}
}

// document adds the fields of a struct to the members of a document, see the package comment.
func (all *forms) document(f *Form, t reflect.Type, part, depth int) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, option, _ := strings.Cut(field.Tag.Get("saved"), ",")
		switch {
		case name == "no" || name == "apart":
		case field.Anonymous:
			of, pointer := field.Type, field.Type.Kind() == reflect.Pointer
			if pointer {
				of = of.Elem()
			}
			f.embedded = append(f.embedded, embedded{part, i, pointer})
			all.document(f, of, len(f.embedded), depth+1)
		case !field.IsExported():
		case reflect.PointerTo(field.Type).Implements(reflect.TypeFor[parted]()):
			for n, name := range strings.Split(name, "+") {
				f.add(member{name: name, depth: depth, part: part, field: i, form: partForm(n)}, "")
			}
		default:
			form := all.form(field.Type)
			if unit, ok := units[option]; ok {
				form = &Form{write: func(c *Codec, v reflect.Value) { c.writeUnixTime(v.Int(), unit) }, read: readInt, empty: form.empty}
			}
			if name == "" {
				name = nameOf(field.Name)
			}
			after, _ := strings.CutPrefix(option, "after=")
			f.add(member{name: name, depth: depth, part: part, field: i, form: form}, after)
		}
	}
}

// units are the options of a field that is a time as a number since 1970.
var units = map[string]time.Duration{"ms": time.Millisecond, "minutes": time.Minute}

// add adds a member behind the one with the name, or at the end. Of two with the same name, the
// one that is less deeply embedded counts, as in Go.
func (f *Form) add(m member, after string) {
	if i := f.find(m.name); i >= 0 {
		if f.members[i].depth < m.depth {
			return
		}
		f.members = slices.Delete(f.members, i, i+1)
	}
	at := len(f.members)
	if i := f.find(after); i >= 0 {
		at = i + 1
	}
	m.label = `"` + m.name + `":`
	f.members = slices.Insert(f.members, at, m)
}

func (f *Form) find(name string) int {
	return slices.IndexFunc(f.members, func(m member) bool { return m.name == name })
}

// nameOf returns the name of a field in a document: callerIp for CallerIP.
func nameOf(field string) string {
	name := []rune(field)
	for i, r := range name {
		inWord := i == 0 || unicode.IsUpper(rune(field[i-1])) && (i+1 == len(name) || unicode.IsUpper(name[i+1]))
		if inWord {
			name[i] = unicode.ToLower(r)
		}
	}
	return string(name)
}

func (f *Form) allEmpty(v reflect.Value) bool {
	var few [usualParts]reflect.Value
	parts := f.parts(few[:0], v)
	for i := range f.members {
		m := &f.members[i]
		if in := parts[m.part]; in.IsValid() && !m.form.empty(in.Field(m.field)) {
			return false
		}
	}
	return true
}

func (f *Form) writeMembers(c *Codec, v reflect.Value) {
	var few [usualParts]reflect.Value
	parts := f.parts(few[:0], v)
	for i := range f.members {
		m := &f.members[i]
		if in := parts[m.part]; in.IsValid() {
			if field := in.Field(m.field); !m.form.empty(field) {
				c.label(m.label)
				m.form.write(c, field)
			}
		}
	}
}

// created is parts, and creates the missing ones.
func (f *Form) created(list []reflect.Value, v reflect.Value) []reflect.Value {
	list = f.parts(list, v)
	for i, e := range f.embedded {
		if !list[i+1].IsValid() {
			p := list[e.part].Field(e.field)
			p.Set(reflect.New(p.Type().Elem()))
			list[i+1] = p.Elem()
		}
	}
	return list
}

// at returns the number of the member with a name, or that of members. Members are usually in
// their order, so the search begins at the one that is probably next.
func (f *Form) at(key []byte, next int) int {
	for range f.members {
		if next == len(f.members) {
			next = 0
		}
		if string(key) == f.members[next].name {
			return next
		}
		next++
	}
	return len(f.members)
}

func (m *member) read(c *Codec, parts []reflect.Value) {
	field := parts[m.part].Field(m.field)
	fresh := m.form.members != nil || m.form.empty(field) // an object detects it itself
	c.readMember(m.name, fresh, func() { m.form.read(c, field) })
}

// readMembers reads the current member if it is a field.
func (f *Form) readMembers(c *Codec, v reflect.Value) {
	parts := f.created(nil, v)
	if i := f.at(c.named, 0); c.ahead && i < len(f.members) {
		f.members[i].read(c, parts)
	}
}

// parted is a text with two headers, which a document has as two members.
type parted interface {
	Has(i int) bool
	Fields(i int) iter.Seq2[string, []string]
	SetPart(i int, header map[string][]string)
}

func partForm(i int) *Form {
	return &Form{
		write: func(c *Codec, v reflect.Value) {
			c.writeFields(as[parted](v).Fields(i), false)
		},
		read:  func(c *Codec, v reflect.Value) { as[parted](v).SetPart(i, c.textFields(false)) },
		empty: func(v reflect.Value) bool { return v.IsZero() || !as[parted](v).Has(i) },
	}
}
