package conformance_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
)

// suite writes two cases of Abs, of which "wrong" expects something else.
func suite(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, want := range map[string]float32{"right": 1, "wrong": 7} {
		model := textModel(t, "input "+float("x", "2")+"output "+float("y", "2")+`node { op_type: "Abs" input: "x" output: "y" }`)
		writeCase(t, filepath.Join(root, name), model, map[string]any{
			"test_data_set_0/input_0.pb": vector("x", -1, 2), "test_data_set_0/output_0.pb": vector("y", want, 2),
		})
	}
	return root
}

// TestBackends runs the same cases on several backends; a case on the skip list is reported with its reason.
func TestBackends(t *testing.T) {
	root := suite(t)
	skips, err := conformance.ReadSkips(strings.NewReader("# known\n\nwro*  the expected value is wrong on purpose\n"))
	if err != nil {
		t.Fatal(err)
	}
	own := conformance.BackendFunc(func(ctx context.Context, fsys fs.FS, name string) (conformance.Session, error) {
		return conformance.Graft{}.Load(ctx, fsys, name)
	})
	for name, b := range map[string]conformance.Backend{"graft": conformance.Graft{}, "tape machine": conformance.TapeMachine{}, "a user's": own} {
		t.Run(name, func(t *testing.T) { conformance.Run(t, root, b, skips) })
	}
}

// A listed case that passes is a failure, in the results and in JUnit's file.
func TestReports(t *testing.T) {
	cases, err := conformance.Cases(suite(t))
	if err != nil {
		t.Fatal(err)
	}
	var results []conformance.Result
	for r := range (conformance.Runner{Skip: conformance.Skips{"right": "listed by mistake"}}).Run(t.Context(), cases) {
		if r.Expected() {
			t.Errorf("%+v is taken as expected", r)
		}
		results = append(results, r)
	}
	var b bytes.Buffer
	if err := conformance.WriteJUnit(&b, "suite", results); err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	if file.Tests != 2 || file.Failures != 2 || !strings.Contains(file.Cases[0].Failure.Message, "listed by mistake") ||
		!strings.Contains(file.Cases[1].Failure.Message, "want 7, got 1") {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := conformance.WriteJSON(&b, results); err != nil || strings.Count(b.String(), "\n") != 2 {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestSkipsRefused(t *testing.T) {
	for text, want := range map[string]string{"node/test_abs": `line 1: "node/test_abs" has no reason`, "\n[ why": "line 2"} {
		if _, err := conformance.ReadSkips(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// A backend that fails to load or to run fails the case with its error.
func TestBackendErrors(t *testing.T) {
	cases, err := conformance.Cases(filepath.Join(suite(t), "right"))
	if err != nil {
		t.Fatal(err)
	}
	load := conformance.BackendFunc(func(context.Context, fs.FS, string) (conformance.Session, error) { return nil, errors.New("no room") })
	run := conformance.BackendFunc(func(context.Context, fs.FS, string) (conformance.Session, error) { return nothing{}, nil })
	for want, b := range map[string]conformance.Backend{"no room": load, "output 0 (y): want float32[2], got nothing": run} {
		if r := (conformance.Runner{Backend: b}).RunCase(t.Context(), cases[0]); r.OK || r.Error != want {
			t.Errorf("got %+v, want %s", r, want)
		}
	}
}

type nothing struct{}

func (nothing) Run(context.Context, nn.Feed) (nn.Feed, error) { return nn.Feed{}, nil }

// TestModelsOnTapeMachine runs real models on Gorgonia's TapeMachine, since graft's operators are Gorgonia operators.
func TestModelsOnTapeMachine(t *testing.T) {
	conformance.Run(t, oracle.Shared(t, "models"), conformance.TapeMachine{}, nil)
}
