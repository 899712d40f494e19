package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// A tagExpression is @a, not X, X and Y, X or Y, or (X). not has the highest
// precedence, then and.
type tagExpression func(tags []string) bool

var tagToken = regexp.MustCompile(`\s*(@[\w-]+|[()]|\w+|\S)`)

// parseTags parses an expression; the empty one is always true.
func parseTags(text string) (tagExpression, error) {
	p := &tagParser{}
	for _, m := range tagToken.FindAllStringSubmatch(text, -1) {
		p.tokens = append(p.tokens, m[1])
	}
	if len(p.tokens) == 0 {
		return func([]string) bool { return true }, nil
	}
	e, err := p.or()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("%q: must be `and` or `or`", p.tokens[0])
	}
	return e, err
}

// namesIn returns the tags in an expression.
func namesIn(text string) []string { return regexp.MustCompile(`@[\w-]+`).FindAllString(text, -1) }

type tagParser struct{ tokens []string }

func (p *tagParser) next(word string) bool {
	if len(p.tokens) > 0 && p.tokens[0] == word {
		p.tokens = p.tokens[1:]
		return true
	}
	return false
}

func (p *tagParser) or() (tagExpression, error) {
	return p.chain("or", p.and, func(a, b tagExpression) tagExpression {
		return func(tags []string) bool { return a(tags) || b(tags) }
	})
}

func (p *tagParser) and() (tagExpression, error) {
	return p.chain("and", p.not, func(a, b tagExpression) tagExpression {
		return func(tags []string) bool { return a(tags) && b(tags) }
	})
}

func (p *tagParser) chain(word string, operand func() (tagExpression, error), join func(a, b tagExpression) tagExpression) (tagExpression, error) {
	left, err := operand()
	for err == nil && p.next(word) {
		var right tagExpression
		if right, err = operand(); err == nil {
			left = join(left, right)
		}
	}
	return left, err
}

func (p *tagParser) not() (tagExpression, error) {
	if p.next("not") {
		e, err := p.not()
		return func(tags []string) bool { return !e(tags) }, err
	}
	if p.next("(") {
		e, err := p.or()
		if err == nil && !p.next(")") {
			err = errors.New("a parenthesis is not closed")
		}
		return e, err
	}
	if len(p.tokens) == 0 {
		return nil, errors.New("it ends where a tag is expected")
	}
	tag := p.tokens[0]
	if tag[0] != '@' {
		return nil, fmt.Errorf("invalid value %q: must be a tag such as @stated", tag)
	}
	p.tokens = p.tokens[1:]
	return func(tags []string) bool { return slices.Contains(tags, tag) }, nil
}
