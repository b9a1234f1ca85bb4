package train

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestConsoleTable checks that epochs are printed as a table with a header, aligned columns and the
// remaining time; a note in between repeats the header.
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
	want := `epoch      loss  val accuracy  val loss      rate  samples/s    time    left
 1/10       0.5          0.75    0.0625     0.001        100     12s   1m48s  best
 2/10      0.25          0.75    0.0625     0.001        100     12s   1m36s
no improvement
epoch      loss  val accuracy  val loss      rate  samples/s    time    left
10/10      0.05          0.75    0.0625     0.001        100     12s      0s  best
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	for d, want := range map[time.Duration]string{43250 * time.Microsecond: "43ms", 1432 * time.Millisecond: "1.4s", 2*time.Hour + 3*time.Minute + 20*time.Second: "2h3m", 61 * time.Second: "1m1s"} {
		if got := brief(d); got != want {
			t.Errorf("%d is %s, want %s", d, got, want)
		}
	}
}

// TestConsoleWidth checks that on a narrow terminal columns are closer together and further metrics
// are omitted, but not the loss.
func TestConsoleWidth(t *testing.T) {
	const wide = "epoch      loss  val loss   val mae    val r2  val rmse      rate  samples/s    time    left"
	for width, want := range map[int]string{
		0: wide, 98: wide,
		97: "epoch     loss val loss  val mae   val r2 val rmse     rate samples/s   time   left",
		88: "epoch     loss val loss  val mae   val r2 val rmse     rate samples/s   time   left",
		87: "epoch     loss val loss  val mae   val r2     rate samples/s   time   left",
		70: "epoch     loss val loss  val mae     rate samples/s   time   left",
		20: "epoch     loss val loss  val mae     rate samples/s   time   left",
	} {
		var out bytes.Buffer
		c := &console{w: &out, width: width}
		c.event(Event{Kind: Finished, Epoch: 2, Epochs: 10, Done: &Epoch{
			Epoch: 2, Loss: 0.5, LR: 1e-3, Val: map[string]float64{"loss": 0.25, "mae": 3, "r2": 0.5, "rmse": 5}, Seconds: 2, Best: true,
		}})
		head, line, _ := strings.Cut(out.String(), "\n")
		line = strings.TrimSuffix(line, "\n")
		if head != want || len(strings.Fields(line)) != len(strings.Fields(want))-strings.Count(want, "val ")+1 {
			t.Errorf("on %d characters:\n%s\n%s\nwant\n%s", width, head, line, want)
		}
		if width > 60 && len(line) > width {
			t.Errorf("a line of %d characters, there is room for %d", len(line), width)
		}
	}
}
