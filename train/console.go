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

	"github.com/graft-ml/graft/internal/terminal"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// listen installs the default listener for events of epochs if there is none; it returns a function that removes it.
func (t *Trainer) listen() func() {
	if t.c.Log != nil {
		return func() {}
	}
	c := &console{w: os.Stderr, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil {
		c.width = width
	}
	t.log = c.event
	return func() {
		c.clear()
		t.log = nil
	}
}

// console prints events: a table with a line for each epoch and, on a terminal, a progress bar during the epoch.
type console struct {
	w        io.Writer // nil: standard error
	terminal bool
	width    int // characters of a line; 0: unlimited
	bar      *progressbar.ProgressBar
	kind     EventKind
	columns  []string // of the current table
	spent    float64  // seconds, in epochs so far
	epochs   int
	speed    float64 // samples per second, of the current epoch
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
		c.columns = nil // start a new table
		fmt.Fprintln(c.out(), terminal.Escape(e.String()))
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

// epochCell is a figure of an epoch with the name of its column.
type epochCell struct {
	name, text string
	width      int // minimum width of the column
	spare      bool
}

// line prints the line of an epoch in the table.
func (c *console) line(e Event) {
	d := e.Done
	c.spent, c.epochs = c.spent+d.Seconds, c.epochs+1
	left := time.Duration(c.spent / float64(c.epochs) * float64(max(0, e.Epochs-e.Epoch)) * float64(time.Second))
	rate := fmt.Sprintf("%.3g", d.LR)
	if d.LR == 0 {
		rate = fmt.Sprintf("×%.3g", d.Rate)
	}
	count := fmt.Sprintf("/%d", e.Epochs)
	cells := []epochCell{{"epoch", fmt.Sprint(e.Epoch) + count, 2*len(count) - 1, false}, {"loss", fmt.Sprintf("%.4g", d.Loss), 8, false}}
	more := false
	for _, n := range slices.Sorted(maps.Keys(d.Val)) {
		cells = append(cells, epochCell{"val " + n, fmt.Sprintf("%.4g", d.Val[n]), 8, more && n != "loss"})
		more = more || n != "loss"
	}
	cells = append(cells, epochCell{"rate", rate, 8, false}, epochCell{"samples/s", fmt.Sprintf("%.0f", c.speed), 9, false},
		epochCell{"time", brief(time.Duration(d.Seconds * float64(time.Second))), 6, false}, epochCell{"left", brief(left), 6, false})
	cells, gap := c.fitting(cells)
	var names []string
	for _, x := range cells {
		names = append(names, x.name)
	}
	if !slices.Equal(c.columns, names) {
		c.columns = names
		fmt.Fprintln(c.out(), row(cells, gap, func(x epochCell) string { return x.name }))
	}
	text := row(cells, gap, func(x epochCell) string { return x.text })
	if d.Best {
		text += gap + "best"
	}
	fmt.Fprintln(c.out(), text)
}

// fitting returns the cells that fit into a line of the terminal, and their separator. In a narrow terminal, columns are closer
// together, and validation metrics except the first one and the loss are left out, the last ones first. The history has them all.
func (c *console) fitting(cells []epochCell) ([]epochCell, string) {
	total := len("best")
	for i := range cells {
		cells[i].width = max(cells[i].width, utf8.RuneCountInString(cells[i].name))
		total += cells[i].width
	}
	if c.width == 0 || total+2*len(cells) <= c.width {
		return cells, "  "
	}
	for i := len(cells) - 1; i >= 0 && total+len(cells) > c.width; i-- {
		if cells[i].spare {
			total -= cells[i].width
			cells = slices.Delete(cells, i, i+1)
		}
	}
	return cells, " "
}

// row aligns cells under the names of their columns.
func row(cells []epochCell, gap string, of func(epochCell) string) string {
	parts := make([]string, len(cells))
	for i, x := range cells {
		s := of(x)
		parts[i] = strings.Repeat(" ", max(0, x.width-utf8.RuneCountInString(s))) + s
	}
	return strings.Join(parts, gap)
}

// brief formats a duration: 40ms, 1.4s, 12s, 3m5s.
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
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
		bar := 20
		if c.width > 0 {
			bar = max(4, min(bar, c.width-72)) // the rest of the line is 60 to 70 characters long
		}
		c.bar = progressbar.NewOptions(e.Count, progressbar.OptionSetWriter(c.out()), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetWidth(bar))
	}
	text := fmt.Sprintf("%d/%d validation", e.Epoch, e.Epochs)
	if e.Kind == Stepped {
		text = fmt.Sprintf("%d/%d loss %.4f rate %.3g %.0f samples/s %v left", e.Epoch, e.Epochs, e.Loss, e.LR, e.Speed, e.Left.Round(time.Second))
	}
	c.bar.Describe(text)
	_ = c.bar.Set(e.Batch) // training continues if the terminal is gone
}

func (c *console) clear() {
	if c.bar != nil {
		_ = c.bar.Clear()
		c.bar = nil
	}
}
