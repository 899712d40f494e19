package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/internal/markdown"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// shellWords splits a line of a shell at spaces, pipes and separators. Text in quotes is one
// word. A separator is a separate word.
var shellWords = regexp.MustCompile(`\|\||&&|[|;&()]|\$\(|(?:[^\s"'|;&()$]|"(?:[^"\\]|\\.)*"|'[^']*'|\$\{[^}]*\}|\$\w*)+`)

var shellComment = regexp.MustCompile(`(^|\s)#\s.*`)

// commandChecks finds mistakes in the commands of pages.
type commandChecks struct {
	model    *kong.Kong
	makefile string
	routes   []*spec.Operation
}

func newCommandChecks(t *testing.T) *commandChecks {
	t.Helper()
	model, err := kong.New(&cli{}, kong.Name("understudy"), kong.DefaultEnvars("UNDERSTUDY"), kong.Vars{"version": ""})
	expect.NoError(t, err)
	c := &commandChecks{model: model, makefile: string(readFile(t, "../../Makefile"))}
	for _, load := range []func() (*spec.Document, error){spec.Load, spec.LoadControl} {
		doc, err := load()
		expect.NoError(t, err)
		c.routes = append(c.routes, doc.Operations()...)
	}
	return c
}

// line returns the problems of a line of a shell.
func (c *commandChecks) line(text string) (problems []string) {
	var words []string
	for _, word := range append(shellWords.FindAllString(text, -1), ";") {
		if !slices.Contains([]string{"|", "||", "&&", ";", "&", "(", ")", "$("}, word) {
			words = append(words, word)
			continue
		}
		if problem := c.words(words); problem != "" {
			problems = append(problems, problem)
		}
		words = nil
	}
	return problems
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*=`)

// words returns the problem of one command, "" for none.
func (c *commandChecks) words(words []string) string {
	for len(words) > 0 && (assignment.MatchString(words[0]) || slices.Contains([]string{"$", "exec", "export", "npx", "time", "!"}, words[0])) {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	switch name := path.Base(words[0]); name {
	case "understudy", "understudy-conform":
		if strings.HasPrefix(words[0], "~") || strings.Contains(words[0], "$") {
			return ""
		}
		return c.command(words[1:])
	case "make":
		for _, target := range words[1:] {
			if !strings.HasPrefix(target, "-") && !strings.Contains(target, "=") && !strings.Contains(c.makefile, "\n"+target+": ") {
				return fmt.Sprintf("make %s: unknown target", target)
			}
		}
	case "curl":
		for _, word := range words[1:] {
			if problem := c.address(strings.Trim(word, `"'`)); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// command returns the problem of the arguments of understudy, "" for none.
func (c *commandChecks) command(words []string) string {
	node, rest := c.model.Model.Node, words
	for len(rest) > 0 {
		next, left := command.Find(node, rest[:1])
		if next == node || len(left) > 0 {
			break
		}
		node, rest = next, rest[1:]
	}
	if node == c.model.Model.Node && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && rest[0] != "..." && rest[0] == strings.ToLower(rest[0]) && regexp.MustCompile(`^[a-z]`).MatchString(rest[0]) {
		return fmt.Sprintf("understudy %s: unknown command", rest[0])
	}
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	known := []string{"--help", "-h", "--version", "-"}
	for at := node; at != nil; at = at.Parent {
		for _, flag := range at.Flags {
			known = append(known, "--"+flag.Name, "--no-"+flag.Name)
			for _, alias := range flag.Aliases {
				known = append(known, "--"+alias)
			}
			if flag.Short != 0 {
				known = append(known, "-"+string(flag.Short))
			}
		}
	}
	for _, word := range rest {
		if word == "--" {
			break
		}
		name, _, _ := strings.Cut(word, "=")
		if regexp.MustCompile(`^--?[a-z]`).MatchString(name) && !slices.Contains(known, name) {
			return fmt.Sprintf("understudy %s: unknown flag: %s", node.Path(), name)
		}
	}
	return ""
}

// address returns the problem of a URL of a server without an operation for its path.
func (c *commandChecks) address(word string) string {
	at := regexp.MustCompile(`(?:127\.0\.0\.1:8080|\$\{?UNDERSTUDY_URL\}?|localhost:8080)(/[^?#]*)`).FindStringSubmatch(word)
	if at == nil || strings.Contains(at[1], "…") || strings.Contains(at[1], "...") {
		return ""
	}
	for _, op := range c.routes {
		if _, ok := op.Match(strings.TrimSuffix(at[1], `"`)); ok {
			return ""
		}
	}
	return at[1] + ": no operation has this path"
}

// pageProblems returns the problems of a page: in blocks of a shell, and in the text.
func (c *commandChecks) pageProblems(page *markdown.Page) (problems []string) {
	for i, block := range page.Blocks {
		if !slices.Contains([]string{"sh", "bash", "shell", "console"}, block.Language) {
			continue
		}
		if i+1 < len(page.Blocks) && page.Blocks[i+1].Language == "text" && strings.Contains(page.Blocks[i+1].Text, "unknown flag") {
			continue // the block shows the error
		}
		joined := strings.ReplaceAll(block.Text, "\\\n", "  ")
		for line := range strings.Lines(joined) {
			for _, problem := range c.line(shellComment.ReplaceAllString(line, "")) {
				problems = append(problems, fmt.Sprintf("%d: %s", block.Line, problem))
			}
		}
	}
	for _, code := range page.Code {
		if strings.HasPrefix(code.Text, "understudy ") || strings.HasPrefix(code.Text, "understudy-conform ") || strings.HasPrefix(code.Text, "make ") {
			for _, problem := range c.line(code.Text) {
				problems = append(problems, fmt.Sprintf("%d: %s", code.Line, problem))
			}
		}
	}
	return problems
}

// TestCommandsOfPages checks that every command in every page uses existing commands, flags,
// targets of make and operations.
func TestCommandsOfPages(t *testing.T) {
	t.Parallel()
	checks, root, pages := newCommandChecks(t), expect.Repository("../.."), 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "testdata", "bin", "dist"}, d.Name())) {
			return fs.SkipDir
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		pages++
		for _, problem := range checks.pageProblems(markdown.Parse(text)) {
			t.Errorf("%s:%s", name, problem)
		}
		return err
	})
	if err != nil || pages < 20 {
		t.Errorf("read %d pages: %v", pages, err)
	}
}

// TestWrongCommandsOfPages checks that each kind of mistake is found.
func TestWrongCommandsOfPages(t *testing.T) {
	t.Parallel()
	checks := newCommandChecks(t)
	for text, want := range map[string]string{
		"```sh\nunderstudy sreve\n```\n":                                       "2: understudy sreve: unknown command",
		"```sh\nA=b understudy serve --clok manual &\n```\n":                   "--clok",
		"```sh\nsleep 1 && understudy ctl clock --sped 3\n```\n":               "--sped",
		"```sh\nmake tset\n```\n":                                              "2: make tset: unknown target",
		"```sh\ncurl http://127.0.0.1:8080/v2/pubilsh/x\n```\n":                "/v2/pubilsh/x: no operation has this path",
		"```sh\ncurl \\\n  \"$UNDERSTUDY_URL/_understudy/helth\"\n```\n":       "/_understudy/helth: no operation",
		"Text with `understudy conform --tarjet x`.\n":                         "--tarjet",
		"Text with `make tset`.\n":                                             "make tset",
		"```sh\nunderstudy run --clock manual -- npm test --nonsense\n```\n":   "",
		"```sh\neval \"$(understudy env --url http://127.0.0.1:8080)\"\n```\n": "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(checks.pageProblems(markdown.Parse([]byte(text))), "\n")
			if want == "" {
				expect.Equal(t, "problems", got, "")
				return
			}
			expect.Contains(t, "problems", got, want)
		})
	}
}
