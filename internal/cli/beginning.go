package cli

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"go.yaml.in/yaml/v3"
)

// within shapes the samples for the training of g, prints or stores the settings, and trains by run, unless --dry-run ends the command
// before. Files of a run that fails are put in order.
func (t *training) within(w io.Writer, model string, g *nn.Graph, fit, val data.Dataset[data.Sample], run func(fit, val data.Dataset[data.Sample]) error) (err error) {
	shaped, valShaped, err := t.shape(g, fit, val)
	if err != nil {
		return err
	}
	stop, err := t.ready(w, model, fit, val)
	if t.free != nil {
		defer t.free()
	}
	if stop || err != nil {
		return err
	}
	end, err := t.watch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(), t.takeBack(err)) }()
	return run(shaped, valShaped)
}

// ready prints what is trained on, and stores the settings of the run. With --dry-run it only prints them, and stop is
// true.
func (t *training) ready(w io.Writer, model string, fit, val data.Dataset[data.Sample]) (stop bool, err error) {
	f := t.flagSet
	if t.dryRun {
		t.resolve(f)
		text, err := t.recipeText(f, model)
		if err != nil {
			return true, err
		}
		if t.asJSON {
			settings := map[string]any{}
			if err := yaml.Unmarshal(text, &settings); err != nil {
				return true, err
			}
			return true, json.NewEncoder(w).Encode(map[string]any{"settings": settings})
		}
		t.announce(&comments{w: w}, fit, val)
		_, err = w.Write(text)
		return true, err
	}
	if t.process.first() {
		if err := t.keepSettings(f, model); err != nil {
			return false, err
		}
	}
	if !t.asJSON {
		t.announce(w, fit, val)
	}
	return false, nil
}

// comments writes each line as a YAML comment.
type comments struct {
	w      io.Writer
	inside bool // a line
}

func (c *comments) Write(b []byte) (int, error) {
	var out []byte
	for _, x := range b {
		if !c.inside {
			out = append(out, "# "...)
		}
		out, c.inside = append(out, x), x != '\n'
	}
	_, err := c.w.Write(out)
	return len(b), err
}

// watch opens the event file of --tensorboard and returns a function that closes it.
func (t *training) watch() (func() error, error) {
	if !t.events || !t.process.first() {
		return func() error { return nil }, nil
	}
	f, err := train.NewEventFile(t.config.Dir)
	if err != nil {
		return nil, err
	}
	t.config.Observe = f.Event
	return f.Close, nil
}
