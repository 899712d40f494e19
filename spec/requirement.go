package spec

import (
	"bytes"
	"cmp"
	_ "embed" // the register
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// Basis says how explicit a requirement is in the interface document.
type Basis string

// The bases. Only stated requirements fail an implementation by default; for clients, also what
// is a de facto standard.
const (
	Stated       Basis = "stated"        // the document says so
	Implied      Basis = "implied"       // it follows from the document
	Open         Basis = "open"          // the document leaves it open
	Extension    Basis = "extension"     // the document lacks it
	DeFacto      Basis = "de-facto"      // public documentation, or at least two published clients, agree
	SingleSource Basis = "single-source" // one published client or page
)

// Bases are all bases, in the order of tables.
var Bases = []Basis{Stated, Implied, DeFacto, SingleSource, Open, Extension}

// Requirement is one testable sentence.
type Requirement struct {
	ID       string `yaml:"id" json:"id"` // REQ-<AREA>-<nnn>, never reused
	Basis    Basis  `yaml:"basis" json:"basis"`
	Text     string `yaml:"text" json:"text"`
	Where    Where  `yaml:"where" json:"where"`
	Source   string `yaml:"source,omitempty" json:"source,omitempty"`     // of what the document lacks
	Security bool   `yaml:"security,omitempty" json:"security,omitempty"` // a violation fails, whatever the basis
	Form     bool   `yaml:"form,omitempty" json:"form,omitempty"`         // of a client: a violation loses and changes no data
	Profile  string `yaml:"profile" json:"profile"`
	Handling string `yaml:"handling,omitempty" json:"handling,omitempty"` // of an open point: bind, tolerate, observe, exclude
	Excluded string `yaml:"excluded,omitempty" json:"excluded,omitempty"` // why no scenario checks it
}

// Handling of open points.
const (
	Bind     = "bind"     // the target file sets the behaviour
	Tolerate = "tolerate" // any behaviour passes
	Observe  = "observe"  // recorded, never judged
	Exclude  = "exclude"  // not tested; Excluded says why
)

// Where is a place in the interface document, with a quotation from it.
type Where struct {
	Heading string `yaml:"heading" json:"heading"`
	Quote   string `yaml:"quote" json:"quote"`

	// Quotes are the words about a part of what is judged: by the name of a field, an operationId, or
	// words of a step.
	Quotes map[string]string `yaml:"quotes,omitempty" json:"quotes,omitempty"`
}

// About returns the words about a failure: those of the field or the operation that failed, or of a
// part of the requirement that a text names. exact is false when they are those of the whole
// requirement.
func (w *Where) About(pointer, operation string, texts ...string) (quote string, exact bool) {
	for _, field := range slices.Backward(strings.Split(pointer, "/")) {
		if quote := w.Quotes[field]; quote != "" {
			return quote, true
		}
		if field != "" && strings.HasPrefix(w.Quote, field+" | ") { // its row of a table
			return w.Quote, true
		}
	}
	if quote := w.Quotes[operation]; quote != "" {
		return quote, true
	}
	longest := ""
	for key := range w.Quotes {
		named := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(key) + `(\W|$)`).MatchString
		if slices.ContainsFunc(texts, named) && cmp.Or(len(key)-len(longest), strings.Compare(longest, key)) > 0 {
			longest = key
		}
	}
	return cmp.Or(w.Quotes[longest], w.Quote), longest != ""
}

// From says where the quote of a requirement is from.
func (r *Requirement) From() string {
	if r.Where.Heading == "" {
		return "Source"
	}
	return fmt.Sprintf("Interface document, %q", r.Where.Heading)
}

// Register contains all requirements of one revision of the document, in order.
type Register struct {
	Revision string `yaml:"revision"`
	Document struct {
		File   string `yaml:"file"`
		SHA256 string `yaml:"sha256"`
	} `yaml:"document"`
	Requirements []Requirement `yaml:"requirements"`

	byID map[string]*Requirement
}

//go:embed requirements.yaml
var requirementsYAML []byte

// LoadRequirements returns the register, which is parsed once per process.
var LoadRequirements = sync.OnceValues(func() (*Register, error) { return parseRegister(requirementsYAML) })

// ByID returns the requirement with that id, nil for none.
func (r *Register) ByID(id string) *Requirement { return r.byID[id] }

var requirementID = regexp.MustCompile(`^REQ-[A-Z]{3}-\d{3}$`)

// parseRegister parses a register and refuses invalid requirements.
func parseRegister(text []byte) (*Register, error) {
	r := &Register{byID: map[string]*Requirement{}}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("requirements: %w", err)
	}
	for i := range r.Requirements {
		q := &r.Requirements[i]
		switch {
		case !requirementID.MatchString(q.ID):
			return nil, fmt.Errorf("requirement %q: invalid id: must be of the form REQ-PUB-001", q.ID)
		case r.byID[q.ID] != nil:
			return nil, fmt.Errorf("requirement %s: duplicate id", q.ID)
		case !slices.Contains(Bases, q.Basis):
			return nil, fmt.Errorf("requirement %s: basis: invalid value %q: must be one of %v", q.ID, q.Basis, Bases)
		case q.Text == "" || q.Profile == "":
			return nil, fmt.Errorf("requirement %s: must have text and profile", q.ID)
		case q.Basis != Extension && q.Source == "" && (q.Where.Heading == "" || q.Where.Quote == ""):
			return nil, fmt.Errorf("requirement %s: must have where.heading and where.quote, or source", q.ID)
		case (q.Basis == Open) != slices.Contains([]string{Bind, Tolerate, Observe, Exclude}, q.Handling):
			return nil, fmt.Errorf("requirement %s: handling: invalid value %q: must be bind, tolerate, observe or exclude for an open point, else empty", q.ID, q.Handling)
		case q.Handling == Exclude && q.Excluded == "":
			return nil, fmt.Errorf("requirement %s: excluded: missing: must be the reason", q.ID)
		}
		r.byID[q.ID] = q
	}
	return r, nil
}
