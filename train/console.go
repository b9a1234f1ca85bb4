package train

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// listen makes sure that somebody hears of events while epochs run; it returns what ends that.
func (t *Trainer) listen() func() {
	if t.c.Log != nil {
		return func() {}
	}
	c := &console{w: os.Stderr, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	t.log = c.event
	return func() {
		c.clear()
		t.log = nil
	}
}

// console prints events: a table with a line for each epoch and, on a terminal, a bar while it lasts.
type console struct {
	w        io.Writer // nil: standard error
	terminal bool
	bar      *progressbar.ProgressBar
	kind     EventKind
	columns  []string // of the table that was begun
	spent    float64  // seconds, in epochs so far
	epochs   int
	speed    float64 // samples per second, of the epoch in work
}

func (c *console) event(e Event) {
	switch e.Kind {
	case Finished:
		c.clear()
		if e.Done != nil {
			c.line(e)
		}
	case Note:
		c.clear()
		c.columns = nil // the table begins anew
		fmt.Fprintln(c.out(), e)
	case Stepped, Tested:
		if e.Kind == Stepped {
			c.speed = e.Speed // without the validation
		}
		if c.terminal {
			c.draw(e)
		}
	}
}

func (c *console) out() io.Writer {
	if c.w == nil {
		return os.Stderr
	}
	return c.w
}

// line is an epoch's in the table.
func (c *console) line(e Event) {
	d := e.Done
	c.spent, c.epochs = c.spent+d.Seconds, c.epochs+1
	names := []string{"epoch", "loss"}
	cells := []string{fmt.Sprintf("%d/%d", e.Epoch, e.Epochs), fmt.Sprintf("%.4g", d.Loss)}
	for _, n := range slices.Sorted(maps.Keys(d.Val)) {
		names, cells = append(names, "val "+n), append(cells, fmt.Sprintf("%.4g", d.Val[n]))
	}
	rate := fmt.Sprintf("%.3g", d.LR)
	if d.LR == 0 {
		rate = fmt.Sprintf("×%.3g", d.Rate)
	}
	left := time.Duration(c.spent / float64(c.epochs) * float64(max(0, e.Epochs-e.Epoch)) * float64(time.Second))
	names = append(names, "rate", "samples/s", "time", "left")
	cells = append(cells, rate, fmt.Sprintf("%.0f", c.speed), brief(time.Duration(d.Seconds*float64(time.Second))), brief(left))
	if !slices.Equal(c.columns, names) {
		c.columns = names
		fmt.Fprintln(c.out(), row(names, names))
	}
	text := row(names, cells)
	if d.Best {
		text += "  best"
	}
	fmt.Fprintln(c.out(), text)
}

// row aligns cells under the names of their columns.
func row(names, cells []string) string {
	parts := make([]string, len(cells))
	for i, s := range cells {
		width := max(9, utf8.RuneCountInString(names[i]))
		parts[i] = strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) + s
	}
	return strings.Join(parts, "  ")
}

// brief is a time as people say it: 0.4s, 12s, 3m05s.
func brief(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

func (c *console) draw(e Event) {
	if c.bar == nil || c.kind != e.Kind || e.Batch == 1 {
		c.clear()
		c.kind = e.Kind
		c.bar = progressbar.NewOptions(e.Count, progressbar.OptionSetWriter(c.out()), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetWidth(20))
	}
	text := fmt.Sprintf("%d/%d validation", e.Epoch, e.Epochs)
	if e.Kind == Stepped {
		text = fmt.Sprintf("%d/%d loss %.4f rate %.3g %.0f samples/s %v left", e.Epoch, e.Epochs, e.Loss, e.LR, e.Speed, e.Left.Round(time.Second))
	}
	c.bar.Describe(text)
	_ = c.bar.Set(e.Batch) // a terminal that is gone is no reason to stop
}

func (c *console) clear() {
	if c.bar != nil {
		_ = c.bar.Clear()
		c.bar = nil
	}
}
