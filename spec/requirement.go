package spec

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

// Where is a place in the interface document, with the words that stand there.
type Where struct {
	Heading string `yaml:"heading" json:"heading"`
	Quote   string `yaml:"quote" json:"quote"`
}
