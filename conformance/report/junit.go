package report

import (
	"encoding/xml"
	"io"
	"strings"
	"time"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     float64      `xml:"time,attr"` // s
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string  `xml:"name,attr"`
	Tests    int     `xml:"tests,attr"`
	Failures int     `xml:"failures,attr"`
	Errors   int     `xml:"errors,attr"`
	Skipped  int     `xml:"skipped,attr"`
	Time     float64 `xml:"time,attr"`
	Stamp    string  `xml:"timestamp,attr"`

	Properties []junitProperty `xml:"properties>property,omitempty"`

	Cases []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name       string          `xml:"name,attr"`
	Class      string          `xml:"classname,attr"`
	File       string          `xml:"file,attr"`
	Time       float64         `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Failure    *junitText      `xml:"failure,omitempty"`
	Error      *junitText      `xml:"error,omitempty"`
	Skipped    *junitText      `xml:"skipped,omitempty"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// writeJUnit writes the report for CI systems: a failure for what fails the run, an
// error for harness errors only, and everything else without a verdict as skipped,
// with the reason. A warning passes unless the run is strict.
func writeJUnit(w io.Writer, r *Report) error {
	all := junitSuites{Name: "understudy conformance of " + r.Target.Name, Time: r.Duration.Seconds()}
	index := map[string]int{}
	var about []junitProperty
	for _, f := range r.facts() {
		about = append(about, junitProperty{f.Name, xmlText(f.Value)})
	}
	for i := range r.Results {
		x := &r.Results[i]
		at, ok := index[x.Feature]
		if !ok {
			at = len(all.Suites)
			index[x.Feature] = at
			all.Suites = append(all.Suites, junitSuite{Name: x.Feature, Stamp: r.Started.UTC().Format(time.RFC3339), Properties: about})
		}
		s := &all.Suites[at]
		c := junitCase{Name: xmlText(x.Name), Class: xmlText(x.Feature), File: "features/" + x.Location, Time: x.Duration.Seconds()}
		for _, id := range x.Requirements {
			c.Properties = append(c.Properties, junitProperty{"requirement", id})
		}
		c.Properties = append(c.Properties, junitProperty{"basis", string(x.Basis)}, junitProperty{"verdict", string(x.Verdict)})
		detail := &junitText{Message: xmlText(x.Detail), Type: string(x.Basis), Text: xmlText(r.plain(x))}
		switch {
		case x.Expected:
			c.Skipped = &junitText{Message: "expected failure: " + xmlText(x.Detail)}
			s.Skipped++
		case x.Verdict == Fail, x.Verdict == Unreliable, x.Verdict == Warn && r.Strict:
			c.Failure = detail
			s.Failures++
		case x.Verdict == HarnessError:
			c.Error = detail
			s.Errors++
		case x.Verdict == Pass, x.Verdict == Warn, x.Verdict == Observed:
		default:
			c.Skipped = &junitText{Message: xmlText(strings.TrimSpace(string(x.Verdict) + ": " + string(x.Reason) + " " + x.Detail))}
			s.Skipped++
		}
		s.Tests++
		s.Time += x.Duration.Seconds()
		s.Cases = append(s.Cases, c)
	}
	for i := range all.Suites {
		s := &all.Suites[i]
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
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

// xmlText replaces characters that are invalid in XML or control a terminal.
func xmlText(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\t' || c == '\n' || c >= 0x20 && c != 0xFFFE && c != 0xFFFF {
			return c
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
