package train

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// EventKind says what an Event is about.
type EventKind string

// The kinds of events.
const (
	Stepped  EventKind = "step"       // a batch was trained on
	Tested   EventKind = "validation" // a batch was validated on
	Finished EventKind = "epoch"      // an epoch ended
	Note     EventKind = "note"       // something the user should know
)

// Event is a piece of news from training.
type Event struct {
	Kind   EventKind     // what happened
	Epoch  int           // counted from 1
	Epochs int           // of this run
	Batch  int           // counted from 1
	Count  int           // batches in the epoch or the validation
	Info   StepInfo      // of Stepped
	LR     float64       // of Stepped: the learning rate of Config.Rule
	Loss   float64       // of Stepped: mean over the epoch so far
	Speed  float64       // samples per second, over the epoch so far
	Left   time.Duration // until the end of the epoch, an estimate
	Done   *Epoch        // of Finished
	Text   string        // of Note
}

// String is one line.
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

// MarshalJSON writes the fields that belong to the event's kind.
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

// number is x as JSON can say it: NaN and infinities are null.
func number(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}
