package house

import (
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

var twinRule = rule{"a noun has one struct", twinProblems, []breach{
	{
		"a struct does not repeat the members of another",
		"mockserver/a.go", "package mockserver\n\ntype a struct {\n A int `json:\"a\"`\n B int `json:\"b,omitempty\"`\n C int `json:\"c\"`\n}\n\nvar b struct {\n C int `json:\"c\"`\n B int `json:\"b\"`\n A int `json:\"a\"`\n}\n",
		"mockserver/a.go:9: has the members of the struct at mockserver/a.go:3: use one type",
	},
}}

// twinsAllowed are structs that write the members of a generated one in their own way.
var twinsAllowed = []string{
	"mockserver/response/error.go",  // has the problems of the next file
	"mockserver/tenant/describe.go", // always has all members
	"mockserver/traffic/entry.go",   // bodies are bytes until they are shown
	"spec/validate.go",              // nothing that spec/api is generated from may import it
}

// twinProblems finds structs with three or more members of JSON that are those of another one.
// A struct that keeps a member as raw JSON reads it in its own way. The suite is free to describe
// what it sees.
func twinProblems(tree []source) []string {
	var problems []string
	seen := map[string]string{}
	for _, generated := range []bool{true, false} {
		for _, s := range tree {
			if s.syntax == nil || s.test || s.generated != generated || strings.HasPrefix(s.path, "conformance/") || slices.Contains(twinsAllowed, s.path) {
				continue
			}
			ast.Inspect(s.syntax, func(n ast.Node) bool {
				fields, ok := n.(*ast.StructType)
				if !ok {
					return true
				}
				members := membersOf(fields)
				key := strings.Join(members, " ")
				switch first := seen[key]; {
				case len(members) < 3:
				case first == "":
					seen[key] = s.at(n)
				case !generated:
					problems = append(problems, s.at(n)+": has the members of the struct at "+first+": use one type")
				}
				return true
			})
		}
	}
	return problems
}

// membersOf are the names in the tags of a struct, sorted; none if a member is raw JSON.
func membersOf(s *ast.StructType) (names []string) {
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		if kind, ok := f.Type.(*ast.SelectorExpr); ok && kind.Sel.Name == "RawMessage" {
			return nil
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
