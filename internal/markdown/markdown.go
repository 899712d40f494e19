// Package markdown parses the pages of the documentation, for the server, which shows them,
// and for tests, which compare them with the source.
//
//	page := markdown.Parse(text)
//	page.HTML(&buffer, func(to string) string { return to })
//
// Headings have the ids that code hosts give them, so that a link to a section
// works in the repository, in the server and on the site.
package markdown

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// converter allows HTML in pages, because they are trusted. The alignment of cells is an
// attribute, because the content security policy of the server blocks styles.
var converter = goldmark.New(
	goldmark.WithExtensions(extension.Strikethrough, extension.Linkify, extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// Heading is a heading of a page.
type Heading struct {
	Level int
	Text  string
	ID    string
	Line  int
}

// Link is a link or a picture.
type Link struct {
	To      string
	Text    string
	Picture bool
	Line    int
}

// Block is a fenced block of code.
type Block struct {
	Language string
	Text     string
	Line     int // of its first line of code
}

// Code is code within a line of text.
type Code struct {
	Text string
	Line int
}

// Section is the text below a heading, down to the next one.
type Section struct {
	Heading
	Body string
}

// Page is a page of Markdown.
type Page struct {
	Title    string // its first heading
	Sections []Section
	Links    []Link
	Blocks   []Block
	Code     []Code

	root   ast.Node
	source []byte
}

// Parse reads a page.
func Parse(source []byte) *Page {
	p := &Page{root: converter.Parser().Parse(text.NewReader(source)), source: source}
	taken := map[string]bool{}
	body := &strings.Builder{}
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.end(body)
			h := Heading{Level: n.Level, Text: p.plain(n), Line: p.line(n)}
			h.ID = uniqueID(h.Text, taken)
			n.SetAttributeString("id", []byte(h.ID))
			if p.Title == "" {
				p.Title = h.Text
			}
			p.Sections = append(p.Sections, Section{Heading: h})
			p.links(n)
			return ast.WalkSkipChildren, nil
		case *ast.FencedCodeBlock:
			p.Blocks = append(p.Blocks, Block{string(n.Language(source)), string(n.Lines().Value(source)), p.line(n)})
			body.WriteByte('\n')
			body.Write(n.Lines().Value(source))
		case *ast.CodeSpan:
			p.Code = append(p.Code, Code{p.plain(n), p.line(n)})
		case *ast.Link, *ast.Image, *ast.AutoLink:
			p.link(n)
		case *ast.Text:
			body.Write(n.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				body.WriteByte(' ')
			}
		case *ast.Paragraph, *ast.TextBlock, *extensions.TableCell:
			body.WriteByte('\n')
		}
		return ast.WalkContinue, nil
	})
	p.end(body)
	return p
}

// end stores the text so far as the body of the current section.
func (p *Page) end(body *strings.Builder) {
	if n := len(p.Sections); n > 0 {
		p.Sections[n-1].Body = strings.TrimSpace(body.String())
		body.Reset()
	}
}

// links collects the links of a heading.
func (p *Page) links(n ast.Node) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		p.link(child)
	}
}

// link collects a node that is a link.
func (p *Page) link(n ast.Node) {
	switch n := n.(type) {
	case *ast.Link:
		p.Links = append(p.Links, Link{To: string(n.Destination), Text: p.plain(n), Line: p.line(n)})
	case *ast.Image:
		p.Links = append(p.Links, Link{To: string(n.Destination), Text: p.plain(n), Picture: true, Line: p.line(n)})
	case *ast.AutoLink:
		p.Links = append(p.Links, Link{To: string(n.URL(p.source)), Text: string(n.Label(p.source)), Line: p.line(n)})
	}
}

// HTML writes the page. link maps the targets of links and pictures. HTML changes the page,
// so call it once.
func (p *Page) HTML(w io.Writer, link func(to string) string) error {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker never fails
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				n.Destination = []byte(link(string(n.Destination)))
			}
		case *ast.Image:
			if entering {
				n.Destination = []byte(link(string(n.Destination)))
			}
		}
		return ast.WalkContinue, nil
	})
	if err := converter.Renderer().Render(w, p.source, p.root); err != nil {
		return fmt.Errorf("render %s: %w", p.Title, err)
	}
	return nil
}

// plain is the text of a node without markup.
func (p *Page) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker never fails
		if leaf, ok := n.(*ast.Text); ok && entering {
			b.Write(leaf.Value(p.source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// line is the number of the line on which a node begins.
func (p *Page) line(n ast.Node) int {
	for at := n; at != nil; at = at.Parent() {
		if at.Type() == ast.TypeInline {
			if first, ok := at.FirstChild().(*ast.Text); ok {
				return 1 + bytes.Count(p.source[:first.Segment.Start], []byte("\n"))
			}
			continue
		}
		if lines := at.Lines(); lines != nil && lines.Len() > 0 {
			return 1 + bytes.Count(p.source[:lines.At(0).Start], []byte("\n"))
		}
	}
	return 1
}

// uniqueID is the id of a heading: its letters, digits, hyphens and underscores in lower
// case, with a hyphen for each space. A repeated heading gets a number as a suffix.
func uniqueID(heading string, taken map[string]bool) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
	id := slug
	for i := 1; taken[id]; i++ {
		id = fmt.Sprintf("%s-%d", slug, i)
	}
	taken[id] = true
	return id
}
