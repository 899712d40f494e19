package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

var phraseRule = rule{"texts that people read are plain, standard technical English", phraseProblems, []breach{
	{
		"an error says what a value must be",
		"engine/queue.go", "package engine\nvar text = `queue: accepted are letters`\n",
		"engine/queue.go:2: \"accepted are\": write must be",
	},
	{
		"a comment is plain, over the end of a line as well",
		"engine/queue.go", "package engine\n\n// Unused is there so\n// many times.\nvar Unused int\n",
		"engine/queue.go:3: \"so\\n// many\": write n, this many",
	},
	{
		"a page is plain",
		"docs/queue.md", "# Queues\n\nThe address stands in the file.\n",
		"docs/queue.md:3: \"stands in\": write is",
	},
	{
		"a feature is plain",
		"features/queue.feature", "Feature: Queues\n  Whoever publishes waits.\n",
		"features/queue.feature:2: \"Whoever\": write ",
	},
}}

// foreignWords are the files that the rule skips: the interface document, a library, and
// this list.
var foreignWords = []string{"docs/interface.md", "mockserver/ui/static/htmx.min.js", "internal/house/phrases.go"}

// wordFiles are the extensions of other files that people read. JSON is generated from
// YAML or not read.
var wordFiles = []string{".md", ".yaml", ".feature", ".html", ".js", ".mjs", ".css", ".tmpl", ".txtar", ".py", ".mts", ".ts"}

// phrase is a phrase to avoid, with its replacement. A space matches any white space,
// also a line break in a comment.
type phrase struct {
	not     string // a regular expression
	instead string
	except  string // a regular expression: matches that are allowed
}

// phrases are sorted by the phrase to avoid.
var phrases = []phrase{
	{`(?-i:accepted) (is|are)`, "must be", ``},
	{`anew`, "again", ``},
	{`at least so (far|long|many|much)`, "minimum", ``},
	{`(became|becomes?|came|comes) of`, "happened to, is the outcome of", ``},
	{`befall(s|en)?|befell`, "happens to", ``},
	{`begins so`, "starts with", ``},
	{`by (a tester's )?hand`, "manually", ``},
	{`for good`, "permanently", ``},
	{`for want of`, "without", ``},
	{`go(es)? on`, "continue", ``},
	{`hence(forth)?|hereafter|hitherto|thence|whence|wherefrom|whereof|whereupon`, "from which, whose, after this", ``},
	{`holds? good`, "applies, is valid", ``},
	{`is no (number|text|name|address|array|JSON|UTF|value|failure|error|success|step|command)`, "is not a", ``},
	{`lest`, "so that ... not", ``},
	{`lets? go of`, "releases, no longer has", ``},
	{`lies|rests`, "is", ``},
	{`make(s)? again|made again`, "repeat", ``},
	{`no such \w+`, "not found, unknown", `no such (file|host|key|user|table|order|hook|article|container|consumer)`},
	{`nobody answer(s|ed)`, "server unreachable", ``},
	{`of which`, "whose", ``},
	{`ours|theirs`, "the server's, the client's", ``},
	{`quoth|ought|dwells?|seldom`, "a common word", ``},
	{`so many`, "n, this many", ``},
	{`once more`, "again", ``},
	{`(stands?|stood|standing)( \w+)?`, "is", `(stands?|stood|standing) (for|still)|stand`},
	{`such an? \w+`, "this", ``},
	{`(tells|told)`, "receives, reports, shows", ``},
	{`under way`, "in progress", ``},
	{`whoever`, "callers, clients", ``},
}

// compiledPhrases are the regular expressions of phrases, in the same order.
var compiledPhrases = func() (all []struct{ find, except *regexp.Regexp }) {
	for _, p := range phrases {
		words := strings.ReplaceAll(p.not, " ", `[\s/#*>]+`)
		all = append(all, struct{ find, except *regexp.Regexp }{
			regexp.MustCompile(`(?i)\b(` + words + `)\b`),
			regexp.MustCompile(`(?i)^(` + p.except + `)$`),
		})
	}
	return all
}()

// phraseProblems finds phrases of the list in comments, string literals and all other
// texts.
func phraseProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if s.generated || slices.Contains(foreignWords, s.path) {
			continue
		}
		problems = append(problems, s.phrases()...)
	}
	return problems
}

// phrases finds phrases of the list in one file.
func (s *source) phrases() []string {
	if s.syntax == nil {
		if !slices.Contains(wordFiles, path.Ext(s.path)) {
			return nil
		}
		return phrasesIn(s.path, 1, s.text)
	}
	var found []string
	for _, group := range s.syntax.Comments {
		first, last := s.positions.Position(group.Pos()), s.positions.Position(group.End())
		found = append(found, phrasesIn(s.path, first.Line, s.text[first.Offset:last.Offset])...)
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			found = append(found, phrasesIn(s.path, s.positions.Position(n.Pos()).Line, text.Value)...)
		}
		return true
	})
	return found
}

// phrasesIn finds phrases of the list in a text. line is the number of its first line.
func phrasesIn(file string, line int, text string) []string {
	var found []string
	for i, p := range compiledPhrases {
		for _, at := range p.find.FindAllStringIndex(text, -1) {
			if match := text[at[0]:at[1]]; !p.except.MatchString(match) {
				found = append(found, fmt.Sprintf("%s:%d: %q: write %s", file, line+strings.Count(text[:at[0]], "\n"), match, phrases[i].instead))
			}
		}
	}
	return found
}
