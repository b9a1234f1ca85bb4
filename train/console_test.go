package train

import (
	"bytes"
	"testing"
	"time"
)

// Epochs are a table: a head, aligned columns, the time that is left; a note between begins it anew.
func TestConsoleTable(t *testing.T) {
	var out bytes.Buffer
	c := &console{w: &out}
	epoch := func(n int, best bool) {
		c.event(Event{Kind: Stepped, Speed: 100})
		c.event(Event{Kind: Finished, Epoch: n, Epochs: 10, Done: &Epoch{
			Epoch: n, Samples: 1200, Loss: 0.5 / float64(n), LR: 1e-3, Rate: 1, Val: map[string]float64{"accuracy": 0.75, "loss": 0.0625}, Seconds: 12, Best: best,
		}})
	}
	epoch(1, true)
	epoch(2, false)
	c.event(Event{Kind: Note, Text: "no improvement"})
	epoch(10, true)
	want := `    epoch       loss  val accuracy   val loss       rate  samples/s       time       left
     1/10        0.5          0.75     0.0625      0.001        100        12s      1m48s  best
     2/10       0.25          0.75     0.0625      0.001        100        12s      1m36s
no improvement
    epoch       loss  val accuracy   val loss       rate  samples/s       time       left
    10/10       0.05          0.75     0.0625      0.001        100        12s         0s  best
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	for d, want := range map[time.Duration]string{432 * time.Millisecond: "400ms", 2*time.Hour + 3*time.Minute + 20*time.Second: "2h3m", 61 * time.Second: "1m1s"} {
		if got := brief(d); got != want {
			t.Errorf("%d is %s, want %s", d, got, want)
		}
	}
}
