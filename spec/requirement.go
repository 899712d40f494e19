package spec

import (
	"bytes"
	_ "embed" // the register
	"fmt"
	"regexp"
	"slices"
	"sync"

	"gopkg.in/yaml.v3"
)

// Basis says how firmly a requirement stands in the interface document.
type Basis string

// The bases. Only what is stated fails an implementation by default.
const (
	Stated    Basis = "stated"    // the document says so
	Implied   Basis = "implied"   // it follows from the document
	Open      Basis = "open"      // the document leaves it open
	Extension Basis = "extension" // the document lacks it
)

// Requirement is one testable sentence.
type Requirement struct {
	ID       string `yaml:"id" json:"id"` // REQ-<AREA>-<nnn>, never used again
	Basis    Basis  `yaml:"basis" json:"basis"`
	Text     string `yaml:"text" json:"text"`
	Where    Where  `yaml:"where" json:"where"`
	Profile  string `yaml:"profile" json:"profile"`
	Handling string `yaml:"handling,omitempty" json:"handling,omitempty"` // of an open point: bind, tolerate, observe, exclude
	Excluded string `yaml:"excluded,omitempty" json:"excluded,omitempty"` // why no scenario checks it
}

// Handling of open points.
const (
	Bind     = "bind"     // the target file says what it is
	Tolerate = "tolerate" // any behaviour passes
	Observe  = "observe"  // recorded, never judged
	Exclude  = "exclude"  // not looked at, with a reason
)

// Where is a place in the interface document, with the words that stand there.
type Where struct {
	Heading string `yaml:"heading" json:"heading"`
	Quote   string `yaml:"quote" json:"quote"`
}

// Register is all requirements of one revision of the document, in their order.
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

// LoadRequirements is the register, read once per process.
var LoadRequirements = sync.OnceValues(func() (*Register, error) { return parseRegister(requirementsYAML) })

// ByID is the requirement with that id, nil for none.
func (r *Register) ByID(id string) *Requirement { return r.byID[id] }

var requirementID = regexp.MustCompile(`^REQ-[A-Z]{3}-\d{3}$`)

// parseRegister refuses, out loud, what is no register.
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
			return nil, fmt.Errorf("requirement %q: accepted are ids such as REQ-PUB-001", q.ID)
		case r.byID[q.ID] != nil:
			return nil, fmt.Errorf("requirement %s: the id is there twice", q.ID)
		case !slices.Contains([]Basis{Stated, Implied, Open, Extension}, q.Basis):
			return nil, fmt.Errorf("requirement %s: basis %q: accepted are stated, implied, open and extension", q.ID, q.Basis)
		case q.Text == "" || q.Profile == "":
			return nil, fmt.Errorf("requirement %s: text and profile are needed", q.ID)
		case q.Basis != Extension && (q.Where.Heading == "" || q.Where.Quote == ""):
			return nil, fmt.Errorf("requirement %s: where it stands is needed", q.ID)
		case (q.Basis == Open) != slices.Contains([]string{Bind, Tolerate, Observe, Exclude}, q.Handling):
			return nil, fmt.Errorf("requirement %s: handling %q: an open point has one of bind, tolerate, observe and exclude", q.ID, q.Handling)
		case q.Handling == Exclude && q.Excluded == "":
			return nil, fmt.Errorf("requirement %s: a reason is needed", q.ID)
		}
		r.byID[q.ID] = q
	}
	return r, nil
}
