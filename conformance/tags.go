package conformance

import (
	"cmp"
	"errors"
	"go/build/constraint"
	"regexp"
	"slices"
	"strings"
)

// tagWord matches a tag or a word in an expression.
var tagWord = regexp.MustCompile(`@[\w-]+|\bnot\s+not\b|\w+`)

// tagWords are how build constraints write words. These do not negate twice.
var tagWords = map[string]string{"and": "&&", "or": "||", "not": "!", "not not": " "}

// parseTags parses an expression of tags such as @stated, not, and, or, and parentheses: a build
// constraint in other words. The empty one is always true.
func parseTags(text string) (func(tags []string) bool, error) {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return func([]string) bool { return true }, nil
	}
	e, err := constraint.Parse("//go:build " + tagWord.ReplaceAllStringFunc(text, func(word string) string {
		if tag, ok := strings.CutPrefix(word, "@"); ok {
			return " " + strings.ReplaceAll(tag, "-", ".") + " "
		}
		return cmp.Or(tagWords[word], "@")
	}))
	if err != nil {
		return nil, errors.New("must be tags such as @stated, joined by and, or, not and parentheses")
	}
	return func(tags []string) bool {
		return e.Eval(func(tag string) bool { return slices.Contains(tags, "@"+strings.ReplaceAll(tag, ".", "-")) })
	}, nil
}

// namesIn returns the tags in an expression.
func namesIn(text string) []string { return regexp.MustCompile(`@[\w-]+`).FindAllString(text, -1) }
