package conformance

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
)

// selectable are scenarios of two areas, with every basis and an outline.
var selectable = fstest.MapFS{
	"publish.feature": {Data: []byte(`@area-publish
Feature: Publish

  Rule: a message arrives

    @REQ-PUB-001 @stated
    Scenario: it arrives
      Given a destination

    @REQ-PUB-002 @implied @last
    Scenario Outline: it arrives as <how>
      Given a destination

      Examples:
        | how  |
        | text |
        | JSON |

  @REQ-PUB-003 @open
  Scenario: it arrives twice
    Given a destination
`)},
	"dlq.feature": {Data: []byte(`@area-dlq
Feature: Dead letter queue

  @REQ-DLQ-001 @REQ-DLQ-002 @stated @negative
  Scenario: it is empty
    Given a destination
`)},
}

func TestSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fact string
		cfg  Config
		want []string
	}{
		{"stated and implied requirements are judged unless others are asked for", Config{}, []string{"it is empty", "it arrives", "it arrives as text", "it arrives as JSON"}},
		{"a basis", Config{Basis: []spec.Basis{spec.Open}}, []string{"it arrives twice"}},
		{"an area", Config{Areas: []string{"dlq"}}, []string{"it is empty"}},
		{"a requirement, where a scenario has several", Config{Requirements: []string{"REQ-DLQ-002"}}, []string{"it is empty"}},
		{"a name of one example", Config{Names: []string{"it arrives as JSON"}}, []string{"it arrives as JSON"}},
		{"an expression over tags", Config{Tags: "not @negative and not @last"}, []string{"it arrives"}},
		{"a profile", Config{Profiles: []string{"WF-RECOVER"}}, []string{"it is empty"}},
		{"the profiles that the target claims", Config{Target: target.Target{Profiles: []string{"MSG"}}}, []string{"it arrives", "it arrives as text", "it arrives as JSON"}},
		{"a selected profile overrides what the target claims", Config{Profiles: []string{"WF-RECOVER"}, Target: target.Target{Profiles: []string{"MSG"}}}, []string{"it is empty"}},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			c.cfg.FS = selectable
			list, err := List(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range list {
				got = append(got, l.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("scenarios, want (-) and got (+):\n%s", diff)
			}
		})
	}
}

// TestSelectNothing checks the errors for selections that would judge nothing.
func TestSelectNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fact string
		cfg  Config
		want string
	}{
		{"a name that no scenario has", Config{Names: []string{"it flies"}}, "wrong usage: no scenario is selected, so there is nothing to judge"},
		{"a tag that no scenario has", Config{Tags: "not @nagative"}, "wrong usage: tags: no scenario has @nagative; known are those of `conform --list`"},
		{"an expression that does not end", Config{Tags: "@last and"}, `wrong usage: tags "@last and": must be tags such as @stated, joined by and, or, not and parentheses`},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			c.cfg.FS = selectable
			_, err := List(c.cfg)
			if !errors.Is(err, ErrUsage) {
				t.Fatalf("error %v, want one of wrong usage", err)
			}
			if got := err.Error(); got != c.want {
				t.Errorf("error %q, want %q", got, c.want)
			}
		})
	}
}

// TestListed checks the tags, names and locations from a feature file.
func TestListed(t *testing.T) {
	t.Parallel()
	list, err := List(Config{FS: selectable, Names: []string{"it arrives as JSON", "it is empty"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Listed{
		{
			Name: "it is empty", Location: "dlq.feature:5", Feature: "Dead letter queue", Tags: []string{"@area-dlq", "@REQ-DLQ-001", "@REQ-DLQ-002", "@stated", "@negative"},
			Requirements: []string{"REQ-DLQ-001", "REQ-DLQ-002"}, Profiles: []string{"WF-RECOVER"}, Basis: spec.Stated,
		},
		{
			Name: "it arrives as JSON", Location: "publish.feature:17", Feature: "Publish", Rule: "a message arrives", Tags: []string{"@area-publish", "@REQ-PUB-002", "@implied", "@last"},
			Requirements: []string{"REQ-PUB-002"}, Profiles: []string{"MSG"}, Basis: spec.Implied,
		},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("scenarios, want (-) and got (+):\n%s", diff)
	}
}

func TestTagExpressions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want bool // of a scenario with @a and @b
	}{
		{"", true},
		{"@a", true},
		{"@c", false},
		{"not @c", true},
		{"not not @a", true},
		{"@a and @c", false},
		{"@c or @b", true},
		{"not @c and @a", true},      // not binds closest
		{"@a or @c and @c", true},    // then and
		{"(@a or @c) and @c", false}, // and a parenthesis before both
		{"@a and(@b)", true},
		{"not (not @a)", true},
		{"not not not @a", false},
		{"@a\n or @c", true},
		{"@a-b or @c", false},
	} {
		t.Run("expression "+c.text, func(t *testing.T) {
			t.Parallel()
			expression, err := parseTags(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := expression([]string{"@a", "@b"}); got != c.want {
				t.Errorf("%q holds: %v, want %v", c.text, got, c.want)
			}
		})
	}
}

func TestTagFaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"@a @b", "a", "@a a", "@a or not", "@a &&", "(@a", "@a)", "@a or", "()", "not", "@a -b", "@a.b", "@"} { //nolint:dupword // tags, not words
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			const want = "must be tags such as @stated, joined by and, or, not and parentheses"
			if _, err := parseTags(text); err == nil || err.Error() != want {
				t.Errorf("%q: error %v, want %q", text, err, want)
			}
		})
	}
}
