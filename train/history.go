package train

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Epoch is the result of one epoch.
type Epoch struct {
	Epoch   int                // counted from 1
	Steps   int                // updates made since training began
	Samples int                // trained on in this epoch
	Loss    float64            // mean over the epoch's samples, at the time of their step
	Norm    float64            // norm of the gradients of the last update, before clipping
	Rate    float64            // factor on the rule's rate at the last update
	LR      float64            // learning rate of Config.Rule at the last update, without groups; 0: unknown
	Val     map[string]float64 // loss and metrics of the validation; nil without validation
	Best    bool               // better than all epochs before
	Seconds float64            // duration
}

// String returns one line: "epoch 3: loss 0.2121, validation accuracy 0.981, loss 0.06402, 12 s".
func (e Epoch) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "epoch %d: loss %.4g", e.Epoch, e.Loss)
	for i, k := range slices.Sorted(maps.Keys(e.Val)) {
		if i == 0 {
			b.WriteString(", validation")
		} else {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s %.4g", k, e.Val[k])
	}
	if e.Seconds > 0 {
		fmt.Fprintf(&b, ", in %s", brief(time.Duration(e.Seconds*float64(time.Second))))
	}
	if e.Best {
		b.WriteString(", best so far")
	}
	return b.String()
}

// MarshalJSON writes the fields; NaN and infinities are written as null.
func (e Epoch) MarshalJSON() ([]byte, error) {
	val := map[string]any{}
	for k, v := range e.Val {
		val[k] = number(v)
	}
	m := map[string]any{
		"epoch": e.Epoch, "steps": e.Steps, "samples": e.Samples, "loss": number(e.Loss), "norm": number(e.Norm),
		"rate": e.Rate, "lr": e.LR, "best": e.Best, "seconds": e.Seconds,
	}
	if e.Val != nil {
		m["val"] = val
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Epoch) UnmarshalJSON(b []byte) error {
	type plain Epoch // without methods; the keys differ from the field names only in case
	return json.Unmarshal(b, (*plain)(e))
}

// History is the list of epochs so far.
type History []Epoch

// Last returns the last epoch, or the zero Epoch if there is none.
func (h History) Last() Epoch {
	if len(h) == 0 {
		return Epoch{}
	}
	return h[len(h)-1]
}

// Best returns the best epoch so far, or the zero Epoch if there is none.
func (h History) Best() Epoch {
	for _, e := range slices.Backward(h) {
		if e.Best {
			return e
		}
	}
	return Epoch{}
}

// String returns one line for each epoch.
func (h History) String() string {
	lines := make([]string, len(h))
	for i, e := range h {
		lines[i] = e.String()
	}
	return strings.Join(lines, "\n")
}

// MarshalJSON writes {"epochs": […]}.
func (h History) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"epochs": []Epoch(h)})
}

// figures returns the names of all validation figures, sorted.
func (h History) figures() []string {
	set := map[string]bool{}
	for _, e := range h {
		for k := range e.Val {
			set[k] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

var errNoWriter = errors.New("train: the writer is nil")

// WriteCSV writes a table with a line for each epoch; validation metrics are in columns val_NAME.
func (h History) WriteCSV(w io.Writer) error {
	if w == nil {
		return errNoWriter
	}
	c := csv.NewWriter(w)
	head := []string{"epoch", "steps", "samples", "loss", "norm", "rate", "lr", "seconds"}
	names := h.figures()
	for _, n := range names {
		head = append(head, "val_"+n)
	}
	if err := c.Write(head); err != nil {
		return err
	}
	text := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, e := range h {
		line := []string{strconv.Itoa(e.Epoch), strconv.Itoa(e.Steps), strconv.Itoa(e.Samples), text(e.Loss), text(e.Norm), text(e.Rate), text(e.LR), text(e.Seconds)}
		for _, n := range names {
			cell := ""
			if v, ok := e.Val[n]; ok {
				cell = text(v)
			}
			line = append(line, cell)
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
