package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestGeneratedReferencePages compares the pages on commands and files with the flags and schemas.
func TestGeneratedReferencePages(t *testing.T) {
	t.Parallel()
	t.Run("commands", func(t *testing.T) {
		t.Parallel()
		expect.GeneratedPart(t, "../../docs/reference/commands.md", commandsBegin, tableEnd, commandsPart(t))
	})
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		expect.Generated(t, "../../docs/reference/files.md", filesPage(t))
	})
}

const commandsBegin = "<!-- commands: written by `make generate` -->\n"

// commandsPart describes all commands in Markdown.
func commandsPart(t *testing.T) string {
	t.Helper()
	k, err := kong.New(&cli{}, kong.Name("understudy"), kong.DefaultEnvars("UNDERSTUDY"), kong.Vars{"version": ""})
	expect.NoError(t, err)
	var b strings.Builder
	b.WriteString("\n## Flags of every command\n\nThe flags from `--url` on are those of all commands that talk to a server: `ctl`, `env` and `why`. `understudy help flags` prints them.\n\n| flag | meaning | default | variable |\n|---|---|---|---|\n")
	for _, flag := range command.GlobalFlags(k.Model.Node) {
		b.WriteString(flagRow(flag))
	}
	describeCommands(&b, k.Model.Node)
	return b.String() + "\n"
}

// TestEachCommandHasExamplesThatParse parses the examples of each command as it is typed.
func TestEachCommandHasExamplesThatParse(t *testing.T) {
	t.Parallel()
	checks := newCommandChecks(t)
	var each func(node *kong.Node)
	each = func(node *kong.Node) {
		for _, child := range visibleCommands(node) {
			if !child.Leaf() {
				each(child)
				continue
			}
			lines := command.Examples(child)
			if len(lines) == 0 {
				t.Errorf("%s has no example", child.FullPath())
			}
			for _, line := range lines {
				for _, problem := range checks.line(line) {
					t.Errorf("%s: %s: %s", child.FullPath(), line, problem)
				}
			}
		}
	}
	each(checks.model.Model.Node)
}

// describeCommands describes the commands below a node.
func describeCommands(b *strings.Builder, node *kong.Node) {
	for _, child := range visibleCommands(node) {
		if !child.Leaf() {
			describeCommands(b, child)
			continue
		}
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n```\nunderstudy %s\n```\n", strings.TrimPrefix(child.FullPath(), "understudy "), cell(child.Help), strings.TrimPrefix(child.Summary(), "understudy "))
		if child.Detail != "" {
			fmt.Fprintf(b, "\n%s\n", cell(child.Detail))
		}
		if len(child.Positional) > 0 {
			b.WriteString("\n| argument | meaning |\n|---|---|\n")
			for _, argument := range child.Positional {
				fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(argument.Summary(), "|", "\\|"), cell(argument.Help))
			}
		}
		var rows []string
		for at := child; at.Parent != nil; at = at.Parent {
			for _, flag := range at.Flags {
				if !flag.Hidden && !command.IsGlobal(flag) {
					rows = append(rows, flagRow(flag))
				}
			}
		}
		if len(rows) > 0 {
			b.WriteString("\n| flag | meaning | default | variable |\n|---|---|---|---|\n" + strings.Join(rows, ""))
		}
		fmt.Fprintf(b, "\n<!-- run by TestEachCommandHasExamplesThatParse -->\n```sh\n%s\n```\n", strings.Join(command.Examples(child), "\n"))
	}
}

// flagRow is a row of a table of flags.
func flagRow(flag *kong.Flag) string {
	name := "--" + flag.Name
	if !flag.IsBool() {
		name += " " + cmp.Or(flag.PlaceHolder, "VALUE")
	}
	if flag.Short != 0 {
		name = "-" + string(flag.Short) + ", " + name
	}
	fallback := ""
	if flag.HasDefault && flag.Default != "" {
		fallback = "`" + flag.Default + "`"
	}
	variable := ""
	if len(flag.Envs) > 0 {
		variable = "`" + strings.Join(flag.Envs, "`, `") + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", strings.ReplaceAll(name, "|", "\\|"), cell(flag.Help), fallback, variable)
}

// cell is a text in one line of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "\n", " ").Replace(strings.TrimSpace(text))
}

// filesPage describes the keys of all files in Markdown.
func filesPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Files\n\nAfter this page you can write any file that Understudy reads. `understudy spec --schema NAME` prints the same as a JSON Schema. " +
		"An unknown key is an error that names the key.\n\nTo let an editor complete and check your file, save the schema beside it, for example with " +
		"`understudy spec --schema fixture > fixture.schema.json`, and make this the first line of the file: " +
		"`# yaml-language-server: $schema=fixture.schema.json`. The [examples](../../examples/files/README.md) have this line.\n")
	about := map[string]string{
		"config":  "The settings file, `understudy serve --config FILE`: its keys are the flags of `serve`. The environment and the command line have priority over the file.",
		"dialect": "The names of another brand: `understudy serve --dialect FILE`. [Two dialects](../clients.md#two-dialects) describes them.",
		"fixture": "Messages, runs and other data for a test: `understudy serve --fixture FILE`, or `understudy ctl fixture FILE`. [Fixtures](../state.md#fixtures) describes them.",
		"plugin":  "The configuration of the rate-limit plugin, for `understudy ratelimit check FILE`.",
		"report":  "A report that the suite writes, `understudy conform --report json=FILE`, and `understudy report` reads. [Reading a failure](../conformance/README.md#reading-a-failure) describes them.",
		"stubs":   "Answers to deliveries in place of the network: `understudy ctl stub --file FILE`.",
		"target":  "An implementation that the suite judges: `understudy conform --target FILE`. [The target file](../conformance/target.md) describes it.",
	}
	for _, name := range slices.Sorted(maps.Keys(fileSchemas)) {
		if about[name] == "" {
			t.Errorf("docs/reference/files.md does not say what the schema %s is for", name)
		}
		text, err := schemaNamed(name)
		expect.NoError(t, err)
		var root map[string]any
		expect.NoError(t, json.Unmarshal(text, &root))
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| key | value | meaning |\n|---|---|---|\n", name, about[name])
		d := description{root: root, b: &b, open: map[string]bool{}}
		d.keys("", root)
	}
	return b.String()
}

// description writes the keys of a schema as rows.
type description struct {
	root map[string]any
	b    *strings.Builder
	open map[string]bool // references in progress: a list that contains itself ends there
}

// keys writes a row for each key of an object, followed by the rows of its value.
func (d *description) keys(place string, schema map[string]any) {
	ref, _ := schema["$ref"].(string)
	if ref != "" {
		if d.open[ref] {
			return
		}
		d.open[ref] = true
		defer delete(d.open, ref)
		schema = d.at(ref)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		d.keys(place+"[]", items)
	}
	if rest, ok := schema["additionalProperties"].(map[string]any); ok {
		d.keys(place+".NAME", rest)
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, ok := properties[name].(map[string]any)
		if !ok || place == ".accounts[]" && name != "id" && name != "token" && name != "password" { // the keys of an account are the same as those of the file
			continue
		}
		if place == ".drivers.NAME.trigger" || strings.HasSuffix(place, ".trigger") {
			continue // the same keys as for any driver
		}
		text := sentence(d.text(property, "description"))
		if slices.Contains(required, any(name)) {
			text = strings.TrimSuffix("Required. "+text, " ")
		}
		fmt.Fprintf(d.b, "| `%s` | %s | %s |\n", strings.TrimPrefix(place+"."+name, "."), d.value(property), cell(text))
		d.keys(place+"."+name, property)
	}
}

// sentence is a text with a capital letter and a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// text is the value of a keyword in a schema, or in the schema that it refers to.
func (d *description) text(schema map[string]any, keyword string) string {
	if text, ok := schema[keyword].(string); ok {
		return text
	}
	if ref, ok := schema["$ref"].(string); ok {
		return d.text(d.at(ref), keyword)
	}
	return ""
}

// value describes the values of a key.
func (d *description) value(schema map[string]any) string {
	if ref, ok := schema["$ref"].(string); ok {
		return d.value(d.at(ref))
	}
	if text, ok := schema["x-accepted"].(string); ok {
		return cell(text)
	}
	if list, ok := schema["enum"].([]any); ok {
		var words []string
		for _, word := range list {
			words = append(words, fmt.Sprintf("`%v`", word))
		}
		return strings.Join(words, ", ")
	}
	switch kind := schema["type"].(type) {
	case string:
		return kind
	case []any:
		words := make([]string, len(kind))
		for i, word := range kind {
			words[i] = fmt.Sprint(word)
		}
		return strings.Join(words, " or ")
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, ok := schema[keyword].([]any); ok {
			var words []string
			for _, one := range list {
				if choice, ok := one.(map[string]any); ok {
					if word := d.value(choice); !slices.Contains(words, word) {
						words = append(words, word)
					}
				}
			}
			return strings.Join(words, " or ")
		}
	}
	if fixed, ok := schema["const"]; ok {
		return fmt.Sprintf("`%v`", fixed)
	}
	return "any"
}

// at follows a reference.
func (d *description) at(ref string) map[string]any {
	node := d.root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		node, _ = node[part].(map[string]any)
	}
	return node
}
