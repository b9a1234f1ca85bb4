package train

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// listen makes sure that somebody hears of events while epochs run; it returns what ends that.
func (t *Trainer) listen() func() {
	if t.c.Log != nil {
		return func() {}
	}
	c := &console{terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	t.log = c.event
	return func() {
		c.clear()
		t.log = nil
	}
}

// console prints events on standard error: a bar per epoch on a terminal, and a line at its end.
type console struct {
	terminal bool
	bar      *progressbar.ProgressBar
	kind     EventKind
}

func (c *console) event(e Event) {
	switch e.Kind {
	case Finished, Note:
		c.clear()
		fmt.Fprintln(os.Stderr, e)
	case Stepped, Tested:
		if c.terminal {
			c.draw(e)
		}
	}
}

func (c *console) draw(e Event) {
	if c.bar == nil || c.kind != e.Kind || e.Batch == 1 {
		c.clear()
		c.kind = e.Kind
		c.bar = progressbar.NewOptions(e.Count, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetWidth(20))
	}
	text := fmt.Sprintf("%d/%d validation", e.Epoch, e.Epochs)
	if e.Kind == Stepped {
		text = fmt.Sprintf("%d/%d loss %.4f rate %.3g %.0f samples/s %v left", e.Epoch, e.Epochs, e.Loss, e.Info.Rate, e.Speed, e.Left.Round(time.Second))
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
