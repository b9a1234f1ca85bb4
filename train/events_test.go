package train

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// TestEventTexts checks events and steps as text and as JSON.
func TestEventTexts(t *testing.T) {
	info := StepInfo{Step: 7, Loss: math.NaN(), Norm: 2, Rate: 0.5, Samples: 32, Updated: true}
	for _, c := range []struct {
		e          Event
		line, json string
	}{
		{Event{Kind: Stepped, Epoch: 1, Epochs: 3, Batch: 2, Count: 10, Info: info, LR: 1e-3, Loss: 0.25, Speed: 640, Left: 1500 * time.Millisecond}, "epoch 1/3 batch 2/10 loss 0.25 rate 0.001 640 samples/s",
			`{"batch":2,"batches":10,"epoch":1,"epochs":3,"event":"step","loss":null,"lr":0.001,"mean_loss":0.25,"norm":2,"rate":0.5,"samples":32,"samples_per_second":640,"seconds_left":1.5,"step":7}`},
		{Event{Kind: Tested, Epoch: 1, Epochs: 3, Batch: 2, Count: 10}, "epoch 1/3 validation 2/10", `{"batch":2,"batches":10,"epoch":1,"epochs":3,"event":"validation"}`},
		{Event{Kind: Note, Text: "a note"}, "a note", `{"event":"note","text":"a note"}`},
		{Event{Kind: Finished, Done: &Epoch{Epoch: 1, Loss: 0.5}}, "epoch 1: loss 0.5", `{"event":"epoch","result":{"best":false,"epoch":1,"loss":0.5,"lr":0,"norm":0,"rate":0,"samples":0,"seconds":0,"steps":0}}`},
		{Event{Kind: Finished, Text: "the end"}, "the end", `{"event":"epoch","result":null}`},
	} {
		if got := c.e.String(); got != c.line {
			t.Errorf("line %q, want %q", got, c.line)
		}
		b, err := json.Marshal(c.e)
		if err != nil || string(b) != c.json {
			t.Errorf("%s, %v\nwant %s", b, err, c.json)
		}
	}
	for want, s := range map[string]StepInfo{
		"step 7: loss NaN of 32 samples, gradient norm 2, rate 0.5": info, "step 3: loss 1.5 of 8 samples, no update yet": {Step: 3, Loss: 1.5, Samples: 8},
	} {
		if s.String() != want {
			t.Errorf("line %q, want %q", s, want)
		}
	}
	b, err := json.Marshal(info)
	if want := `{"loss":null,"norm":2,"rate":0.5,"samples":32,"step":7,"updated":true}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	var e Epoch
	if err := json.Unmarshal([]byte(`{"epoch":2,"loss":0.5,"lr":0.1,"val":{"loss":0.25}}`), &e); err != nil || e.Epoch != 2 || e.Loss != 0.5 || e.LR != 0.1 || e.Val["loss"] != 0.25 {
		t.Errorf("read %+v, %v", e, err)
	}
	if !finite(0) || finite(math.NaN()) || finite(math.Inf(1)) || finite(math.Inf(-1)) || number(2) != 2.0 || number(math.Inf(-1)) != nil {
		t.Error("what is a number")
	}
}

// TestConsoleBar checks that on a terminal a progress bar shows the batches of an epoch, then those of its validation.
func TestConsoleBar(t *testing.T) {
	var out bytes.Buffer
	c := &console{w: &out, terminal: true}
	step := Event{Kind: Stepped, Epoch: 1, Epochs: 2, Batch: 1, Count: 4, Loss: 0.5, LR: 1e-3, Speed: 100, Left: 2600 * time.Millisecond}
	c.event(step)
	bar := c.bar
	if s := bar.State(); s.Description != "1/2 loss 0.5000 rate 0.001 100 samples/s 3s left" || s.CurrentNum != 1 || s.Max != 4 {
		t.Errorf("the bar shows %+v", s)
	}
	step.Batch = 3
	c.event(step)
	if c.bar != bar || bar.State().CurrentNum != 3 {
		t.Errorf("a later batch: another bar %v, at %d", c.bar != bar, c.bar.State().CurrentNum)
	}
	c.event(Event{Kind: Tested, Epoch: 1, Epochs: 2, Batch: 2, Count: 8})
	if s := c.bar.State(); c.bar == bar || s.Description != "1/2 validation" || s.CurrentNum != 2 || s.Max != 8 || c.speed != 100 {
		t.Errorf("the validation's bar shows %+v, speed %v", s, c.speed)
	}
	bar = c.bar
	c.event(Event{Kind: Tested, Epoch: 2, Epochs: 2, Batch: 1, Count: 8})
	if c.bar == bar {
		t.Error("a first batch begins a bar")
	}
	c.event(Event{Kind: Finished})
	if c.bar != nil {
		t.Error("the bar stays when the epoch is over")
	}
	c.event(step)
	c.event(Event{Kind: Note, Text: "a note"})
	if c.bar != nil || !strings.HasSuffix(out.String(), "a note\n") {
		t.Errorf("a note ends %q", out.String())
	}
	quiet := &console{w: &out}
	quiet.event(step)
	if quiet.bar != nil || quiet.speed != 100 {
		t.Error("a bar without a terminal")
	}
	if (&console{}).out() != os.Stderr || quiet.out() != &out {
		t.Error("where it is written")
	}
}

// The time that is left counts on the mean of the epochs so far; where the learning rate is unknown its factor is shown.
func TestConsoleTimes(t *testing.T) {
	var out bytes.Buffer
	c := &console{w: &out}
	for i, seconds := range []float64{10, 30, 20} {
		c.event(Event{Kind: Finished, Epoch: i + 1, Epochs: 2, Done: &Epoch{Epoch: i + 1, Loss: 0.123456, Rate: 0.25, Seconds: seconds}})
	}
	want := `epoch      loss      rate  samples/s    time    left
  1/2    0.1235     ×0.25          0     10s     10s
  2/2    0.1235     ×0.25          0     30s      0s
  3/2    0.1235     ×0.25          0     20s      0s
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	c = &console{w: &out}
	for i, seconds := range []float64{10, 30} {
		c.event(Event{Kind: Finished, Epoch: i + 1, Epochs: 5, Done: &Epoch{Epoch: i + 1, LR: 0.1, Seconds: seconds}})
	}
	if lines := strings.Split(out.String(), "\n"); !strings.HasSuffix(lines[1], "40s") || !strings.HasSuffix(lines[2], "1m0s") {
		t.Errorf("left:\n%s\nwant 40s and 1m0s", out.String())
	}
	for d, want := range map[time.Duration]string{
		9940 * time.Millisecond: "9.9s", 10040 * time.Millisecond: "10s", 59*time.Minute + 59*time.Second: "59m59s", time.Hour: "1h0m", 90 * time.Minute: "1h30m", 0: "0s",
	} {
		if got := brief(d); got != want {
			t.Errorf("%d is %s, want %s", d, got, want)
		}
	}
}
