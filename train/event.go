package train

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// EventKind is the kind of an Event.
type EventKind string

// The kinds of events.
const (
	Stepped  EventKind = "step"       // a training batch was computed
	Tested   EventKind = "validation" // a validation batch was computed
	Finished EventKind = "epoch"      // an epoch ended
	Note     EventKind = "note"       // a message for the user
)

// Event reports the progress of training.
type Event struct {
	Kind   EventKind     // what happened
	Epoch  int           // counted from 1
	Epochs int           // of this run
	Batch  int           // counted from 1
	Count  int           // batches in the epoch or the validation
	Info   StepInfo      // of Stepped
	LR     float64       // of Stepped: the learning rate of Config.Rule
	Loss   float64       // of Stepped: mean loss of the epoch so far
	Speed  float64       // samples per second, over the epoch so far
	Left   time.Duration // estimated time until the end of the epoch
	Done   *Epoch        // of Finished
	Text   string        // of Note
}

// String returns one line.
func (e Event) String() string {
	switch e.Kind {
	case Stepped:
		return fmt.Sprintf("epoch %d/%d batch %d/%d loss %.4g rate %.3g %.3g samples/s", e.Epoch, e.Epochs, e.Batch, e.Count, e.Loss, e.LR, e.Speed)
	case Tested:
		return fmt.Sprintf("epoch %d/%d validation %d/%d", e.Epoch, e.Epochs, e.Batch, e.Count)
	case Finished:
		if e.Done != nil {
			return e.Done.String()
		}
	}
	return e.Text
}

// MarshalJSON writes the fields of the event's kind.
func (e Event) MarshalJSON() ([]byte, error) {
	m := map[string]any{"event": e.Kind}
	switch e.Kind {
	case Stepped:
		m["epoch"], m["epochs"], m["batch"], m["batches"] = e.Epoch, e.Epochs, e.Batch, e.Count
		m["step"], m["rate"], m["lr"], m["samples"] = e.Info.Step, e.Info.Rate, e.LR, e.Info.Samples
		m["loss"], m["norm"] = number(e.Info.Loss), number(e.Info.Norm)
		m["mean_loss"], m["samples_per_second"], m["seconds_left"] = number(e.Loss), number(e.Speed), e.Left.Seconds()
	case Tested:
		m["epoch"], m["epochs"], m["batch"], m["batches"] = e.Epoch, e.Epochs, e.Batch, e.Count
	case Finished:
		m["result"] = e.Done
	default:
		m["text"] = e.Text
	}
	return json.Marshal(m)
}

// number converts x to JSON: NaN and infinities are null.
func number(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}
