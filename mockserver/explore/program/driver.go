package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/understudy-mock/understudy/mockserver/explore"
)

// Driven is a scenario that another process plays, such as a test in JavaScript or Python. Both
// write lines of JSON. This side says what to do, and the other answers "done":
//
//	{"do":"reset"}  ends the application of the case before
//	{"do":"play"}   plays the scenario; meanwhile the other side asks {"ask":"do"}, which is
//	                answered by {"do":"step"} as often as the step must be done, or
//	                {"ask":"advance","by":"24h"}; {"do":"go on"} is the end of each
//	{"do":"state"}, {"do":"check"}
//
// Each line has the number of its case, so that what comes from a case that has ended is not
// taken for an answer.
type Driven struct {
	file  *File
	out   *json.Encoder
	lines chan heard
	n     int
}

// told is a line to the other side.
type told struct {
	Do    string `json:"do"`
	Case  int    `json:"case"`
	Error string `json:"error,omitempty"`
}

// heard is a line from the other side.
type heard struct {
	Ask   string          `json:"ask"` // do, advance, done
	Case  int             `json:"case"`
	By    string          `json:"by"`
	Error string          `json:"error"`
	State json.RawMessage `json:"state"`
}

// maxLine is the longest line of the other side, in bytes: a state.
const maxLine = maxState

// NewDriven reads the lines of the other side until in ends; gone is called then.
func NewDriven(file *File, in *bufio.Reader, out io.Writer, gone func()) *Driven {
	d := &Driven{file: file, out: json.NewEncoder(out), lines: make(chan heard)}
	go func() {
		defer gone()
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			var h heard
			if err := json.Unmarshal(scanner.Bytes(), &h); err != nil {
				h = heard{Ask: "done", Case: -1, Error: "invalid line: " + err.Error()}
			}
			d.lines <- h
		}
	}()
	return d
}

// listen waits for a line of this case.
func (d *Driven) listen(ctx context.Context) (heard, error) {
	for {
		select {
		case h := <-d.lines:
			if h.Case == d.n {
				return h, nil
			}
		case <-ctx.Done():
			return heard{}, ctx.Err()
		}
	}
}

// ask says what to do, and waits until it is done.
func (d *Driven) ask(ctx context.Context, do string) (heard, error) {
	if err := d.out.Encode(told{Do: do, Case: d.n}); err != nil {
		return heard{}, err
	}
	h, err := d.listen(ctx)
	if err == nil && h.Error != "" {
		err = errors.New(h.Error)
	}
	return h, err
}

// Reset ends the application of the case before.
func (d *Driven) Reset(ctx context.Context) error {
	d.n++
	_, err := d.ask(ctx, "reset")
	return err
}

// Play has the scenario played.
func (d *Driven) Play(ctx context.Context, c *explore.Case) error {
	h, err := d.ask(ctx, "play")
	for ; err == nil && h.Ask != "done"; h, err = d.listen(ctx) {
		switch h.Ask {
		case "do":
			err = c.Do(ctx, func() error {
				_, err := d.ask(ctx, "step")
				return err
			})
		case "advance":
			var by time.Duration
			if by, err = duration(h.By, 0); err == nil {
				err = c.Advance(ctx, by)
			}
		default:
			err = fmt.Errorf("invalid ask %q: must be do, advance or done", h.Ask)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if err := d.out.Encode(told{Do: "go on", Case: d.n, Error: text}); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	if err == nil && h.Error != "" {
		err = errors.New(h.Error)
	}
	return err
}

// State asks for the final state.
func (d *Driven) State(ctx context.Context) ([]byte, error) {
	h, err := d.ask(ctx, "state")
	return h.State, err
}

// Check asks whether all is well.
func (d *Driven) Check(ctx context.Context, _ *explore.Observation) error {
	_, err := d.ask(ctx, "check")
	return err
}

// Quiet is how long the application must not call before a case ends.
func (d *Driven) Quiet() (time.Duration, bool) { return d.file.quiet() }
