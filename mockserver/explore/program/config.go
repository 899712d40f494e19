package program

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/internal/yamlfile"
	"github.com/understudy-mock/understudy/mockserver/explore"
)

//go:embed config.schema.json
var schema []byte

// File is a configuration file: an application, its outside services and a scenario.
type File struct {
	Version int
	App     struct {
		URL, Ready, Reset string
		Quiet, Start      string
	}
	Outside  map[string]OutsideService
	Scenario Script
	Keys     []string
	State    string
	Check    string
	Faults   []explore.Fault
	Allow    []explore.Allowed
	Order    []explore.Order
}

// OutsideService is a service that the application calls.
type OutsideService struct {
	Env    string // variable with its address
	Answer struct {
		Status  int
		Headers map[string]string
		Body    string
	}
}

// Script is what happens from outside: steps, or a command.
type Script struct {
	Steps   []string
	Command string
}

// UnmarshalYAML reads a list of steps, or an object with a command.
func (s *Script) UnmarshalYAML(decode func(any) error) error {
	if decode(&s.Steps) == nil {
		return nil
	}
	var object struct{ Command string }
	err := decode(&object)
	s.Command = object.Command
	return err
}

// ReadFile reads a configuration file. Errors name the line and the key.
func ReadFile(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	file, err := yamlfile.Parse(name, text)
	if err != nil {
		return nil, err
	}
	if file.Root == nil {
		return nil, file.Empty()
	}
	checked, err := yamlfile.NewSchema("explore.schema.json", schema, nil)
	if err != nil {
		return nil, err
	}
	if err := file.Check(checked); err != nil {
		return nil, err
	}
	out := &File{}
	if err := file.Decode(out); err != nil {
		return nil, err
	}
	for i, s := range out.Scenario.Steps {
		if _, err := parseStep(s); err != nil {
			pointer := fmt.Sprintf("/scenario/%d", i)
			return nil, file.Fault(file.At(pointer), yamlfile.Dotted(pointer), err.Error())
		}
	}
	for _, d := range []struct{ key, text string }{{"/app/quiet", out.App.Quiet}, {"/app/start", out.App.Start}} {
		if _, err := duration(d.text, 0); err != nil {
			return nil, file.Fault(file.At(d.key), yamlfile.Dotted(d.key), fmt.Sprintf("invalid value %q: must be a duration such as 20ms", d.text))
		}
	}
	return out, nil
}

// quiet is how long the application must not call before a case ends, and whether the file says so.
func (f *File) quiet() (d time.Duration, given bool) {
	d, _ = duration(f.App.Quiet, explore.DefaultQuiet) // ReadFile has checked it
	return d, f.App.Quiet != ""
}

// step is a step of a scenario: a request, or a movement of the clock.
type step struct {
	method, path, body string
	advance            time.Duration
}

// parseStep reads POST /checkout {"order":1}, or advance 1d.
func parseStep(text string) (step, error) {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	if first == "advance" {
		d, err := duration(rest, 0)
		if err != nil || d <= 0 {
			return step{}, fmt.Errorf("invalid value %q: must be advance and a duration such as 1d", text)
		}
		return step{advance: d}, nil
	}
	path, body, _ := strings.Cut(rest, " ")
	if strings.ToUpper(first) != first || !strings.HasPrefix(path, "/") {
		return step{}, fmt.Errorf(`invalid value %q: must be a request such as POST /checkout {"order":1}, or advance 1d`, text)
	}
	return step{method: first, path: path, body: strings.TrimSpace(body)}, nil
}

// isRequest reports whether a text is a request to the application, and not a command.
func isRequest(text string) bool {
	s, err := parseStep(text)
	return err == nil && s.method != ""
}

// duration reads a Go duration, or a number of days such as 1d; absent for no text.
func duration(text string, absent time.Duration) (time.Duration, error) {
	if text == "" {
		return absent, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		d, err := time.ParseDuration(days + "h")
		return d * 24, err
	}
	return time.ParseDuration(text)
}
