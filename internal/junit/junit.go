// Package junit writes test results in the XML format that CI systems read.
//
//	err := junit.Write(w, "understudy explore", []junit.Suite{{Name: "checkout", Cases: cases}})
package junit

import (
	"encoding/xml"
	"io"
)

// Report is a whole file.
type Report struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	Counts
	Suites []Suite `xml:"testsuite"`
}

// Counts are the totals of a suite, or of all. Write computes them, and adds the times of cases to the
// time of a suite.
type Counts struct {
	Tests    int     `xml:"tests,attr"`
	Failures int     `xml:"failures,attr"`
	Errors   int     `xml:"errors,attr"`
	Skipped  int     `xml:"skipped,attr"`
	Time     float64 `xml:"time,attr"` // s
}

// Suite is a list of cases.
type Suite struct {
	Name  string `xml:"name,attr"`
	Stamp string `xml:"timestamp,attr,omitempty"`
	Counts
	Properties []Property `xml:"properties>property,omitempty"`
	Cases      []Case     `xml:"testcase"`
}

// Case passes unless it has a Failure, an Error, or the reason why it was Skipped.
type Case struct {
	Name       string     `xml:"name,attr"`
	Class      string     `xml:"classname,attr"`
	File       string     `xml:"file,attr,omitempty"`
	Time       float64    `xml:"time,attr"`
	Properties []Property `xml:"properties>property,omitempty"`
	Failure    *Text      `xml:"failure,omitempty"`
	Error      *Text      `xml:"error,omitempty"`
	Skipped    *Text      `xml:"skipped,omitempty"`
}

// Property is something else that is known of a case or a suite.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Text is what is said of a case.
type Text struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Write writes a report, and replaces characters that are invalid in XML.
func Write(w io.Writer, name string, suites []Suite) error {
	all := Report{Name: name, Suites: suites}
	for i := range suites {
		for _, c := range suites[i].Cases {
			suites[i].Time += c.Time
			for _, n := range []*Counts{&suites[i].Counts, &all.Counts} {
				n.Tests++
				switch {
				case c.Failure != nil:
					n.Failures++
				case c.Error != nil:
					n.Errors++
				case c.Skipped != nil:
					n.Skipped++
				}
			}
		}
		all.Time += suites[i].Time
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
