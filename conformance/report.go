package conformance

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// WriteJSON writes results as JSON, one on each line.
func WriteJSON(w io.Writer, results []Result) error {
	e := json.NewEncoder(w)
	for _, r := range results {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// junit is a test suite in JUnit's XML format, which build servers read.
type junit struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes results as a JUnit test suite. Known failures are reported as skipped; a known failure that passes is
// reported as failed.
func WriteJUnit(w io.Writer, suite string, results []Result) error {
	s := junit{Name: suite, Tests: len(results)}
	total := 0.0
	for _, r := range results {
		c := junitCase{Name: r.Case, Class: suite, Time: fmt.Sprintf("%.3f", r.Seconds)}
		total += r.Seconds
		switch {
		case !r.Expected() && r.Passed():
			c.Failure = &junitMessage{"passes, although it is listed: " + r.Skip}
			s.Failures++
		case !r.Expected():
			c.Failure = &junitMessage{r.Error}
			s.Failures++
		case r.Skip != "":
			c.Skipped = &junitMessage{r.Skip}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Time = fmt.Sprintf("%.3f", total)
	if w == nil {
		return errors.New("conformance: the writer is nil")
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
