package op

import (
	"errors"
	"fmt"
	"strings"
)

// Error is the type of graft's errors: where it happened, what was wanted and what was found. It is formatted on one
// line.
type Error struct {
	Stage string // load, infer, lower, run, edit, train, save …
	Op    string // operator, "Conv"
	Node  string // the node's name, or that of its first output
	Input string // the value concerned
	Param string // the parameter concerned
	Want  any    // what would fit; nil if Err explains it
	Got   any    // what was found instead
	Err   error  // the cause; nil if Want and Got explain it
	Kind  error  // the sentinel that errors.Is matches: ErrNotFound and so on; nil: see Is
}

// The sentinel errors that an Error matches with errors.Is. A run ended by its context matches context.Canceled or
// context.DeadlineExceeded instead.
var (
	ErrNotFound    = errors.New("not found")    // no node, value or operator has this name
	ErrUnsupported = errors.New("unsupported")  // graft lacks the operator, its gradient, or this form of it
	ErrInput       = errors.New("wrong input")  // a value given to a run does not fit the model's input
	ErrShape       = errors.New("wrong shapes") // types, shapes or attributes of a node do not fit together
)

// Is reports whether the error is of the kind target. If Kind is nil, an input of a run that does not fit is ErrInput,
// and errors of inference and lowering are ErrShape.
func (e *Error) Is(target error) bool {
	switch {
	case e.Kind != nil:
		return e.Kind == target
	case target == ErrInput:
		return e.Stage == "run" && e.Op == "" && e.Input != ""
	case target == ErrShape:
		return (e.Stage == "infer" || e.Stage == "lower") && e.Op != "" && !kinded(e.Err)
	}
	return false
}

// kinded reports whether a cause has its own Kind.
func kinded(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind != nil
}

// Error formats the fields that are set: "lower: Conv conv1: input W: want float32[8,3,3,3], got …".
func (e *Error) Error() string {
	var b strings.Builder
	part := func(s string) {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(s)
	}
	if e.Stage != "" {
		part(e.Stage)
	}
	if where := strings.TrimSpace(e.Op + " " + e.Node); where != "" {
		part(where)
	}
	if e.Input != "" {
		part("input " + e.Input)
	}
	if e.Param != "" {
		part("parameter " + e.Param)
	}
	switch {
	case e.Want != nil && e.Got != nil:
		part(fmt.Sprintf("want %v, got %v", e.Want, e.Got))
	case e.Want != nil:
		part(fmt.Sprintf("want %v", e.Want))
	case e.Got != nil:
		part(fmt.Sprintf("got %v", e.Got))
	}
	if e.Err != nil {
		part(e.cause())
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// cause formats Err, without the operator and node that e has named already.
func (e *Error) cause() string {
	inner, ok := e.Err.(*Error)
	if !ok || inner.Op != e.Op || inner.Node != e.Node {
		return e.Err.Error()
	}
	c := *inner
	if c.Op, c.Node = "", ""; c.Stage == e.Stage {
		c.Stage = ""
	}
	return c.Error()
}

// AtRun returns the error of an operator while it ran, with the stage "run" and without the context that callers added.
// It returns nil for other errors, and for errors in subgraphs, which already have a stage.
func AtRun(err error) *Error {
	var e *Error
	if !errors.As(err, &e) || e.Stage != "" {
		return nil
	}
	c := *e
	c.Stage = "run"
	return &c
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error that names the call, with a formatted message.
func (c *Call) Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if format == "%w" {
		err = errors.Unwrap(err)
	}
	return &Error{Op: c.opName(), Node: c.node(), Err: err}
}

// opName returns the name of the operator, "" for a call without one.
func (c *Call) opName() string {
	if c.Op == nil {
		return ""
	}
	return c.Op.Name
}

// Mismatch returns an Error about input i with the expected and the actual value.
func (c *Call) Mismatch(i int, want, got any) error {
	return &Error{Op: c.opName(), Node: c.node(), Input: c.InputName(i), Want: want, Got: got}
}

// NeedError reports that the types of an operator depend on an unknown value of an input. The graph then
// specializes the lowering for that value, or ends a stage before the operator.
type NeedError struct {
	Input int    // number of the input
	Name  string // its formal name
}

// Error names the input.
func (e *NeedError) Error() string {
	return fmt.Sprintf("the value of input %s is not known yet", e.Name)
}

// Needs returns the input whose value is needed, if err is a NeedError.
func Needs(err error) (input int, ok bool) {
	var n *NeedError
	if errors.As(err, &n) {
		return n.Input, true
	}
	return 0, false
}
