package budget

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// What is read whole has at most the bytes that are left, or a third of them if its length is not known.
func TestReadAll(t *testing.T) {
	defer Limit(0)
	for _, c := range []struct {
		n           int
		known, file bool
		want        string
	}{
		{0, false, false, ""}, {333, false, false, ""}, {firstRead - 1, false, false, ""}, {1 << 20, false, false, "more than 4096 bytes of data: takes 6144 bytes of memory"},
		{0, true, false, ""}, {1000, true, false, ""}, {1001, true, false, "reading 1001 bytes: takes 1001 bytes of memory, with 0 in use more than the limit of 1000, which nn.LimitMemory sets"},
		{0, false, true, ""}, {1000, false, true, ""}, {1001, false, true, "reading 1001 bytes: takes 1001 bytes of memory, with 0 in use more than the limit of 1000, which nn.LimitMemory sets"},
	} {
		data := strings.Repeat("a", c.n)
		var r io.Reader = strings.NewReader(data)
		switch {
		case c.file:
			name := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r = f
		case !c.known:
			r = io.MultiReader(r)
		}
		settle()
		Limit(1000 + state.used)
		b, err := ReadAll(r)
		if c.want == "" && (err != nil || string(b) != data) || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %d bytes, %v", c, len(b), err)
		}
	}
	if _, err := ReadAll(iotest.ErrReader(io.ErrUnexpectedEOF)); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
}

// settle waits until what nobody uses any more is discharged.
func settle() {
	for range 5 {
		collect()
		time.Sleep(time.Millisecond)
	}
}

// What is read is charged while it is reachable.
func TestReadIsCharged(t *testing.T) {
	defer Limit(0)
	settle()
	Limit(state.used + 1<<20)
	var kept [][]byte
	for _, c := range []struct {
		r    io.Reader
		want bool
	}{{strings.NewReader(strings.Repeat("a", 400000)), true}, {io.MultiReader(strings.NewReader(strings.Repeat("a", 300000))), true}, {strings.NewReader(strings.Repeat("a", 400000)), false}} {
		b, err := ReadAll(c.r)
		if (err == nil) != c.want {
			t.Errorf("%d bytes beside %d others: %v", len(b), len(kept), err)
		}
		kept = append(kept, b)
	}
	if n := 1<<20 - (state.limit - state.used); n < 700000 {
		t.Errorf("%d bytes are charged", n)
	}
	runtime.KeepAlive(kept)
	kept = nil
	if Fits(1<<20) != nil {
		t.Errorf("%d bytes are left", Left())
	}
	list, err := Slice[int64](1 << 17)
	if err != nil || len(list) != 1<<17 || Fits(1) == nil {
		t.Errorf("%d numbers: %v", len(list), err)
	}
	runtime.KeepAlive(list)
	var sum Tally
	settle()
	if err := errors.Join(sum.Add(1<<18), sum.Add(1<<18)); err != nil || Fits(1<<20-1<<18) == nil {
		t.Error(err)
	}
	p := new([16]byte)
	if Transfer(&sum, p); Fits(1<<20-1<<18) == nil {
		t.Error("what is transferred is not charged")
	}
	runtime.KeepAlive(p)
	if p = nil; Fits(1<<20) != nil {
		t.Errorf("%d bytes are left", Left())
	}
}

// A stream that fails says so, before its data ends and after it.
func TestRead(t *testing.T) {
	broken := errors.New("broken")
	four := func() []byte { return make([]byte, 4) }
	for name, r := range map[string]io.Reader{"within": iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("abcd"))), "after": io.MultiReader(strings.NewReader("abcd"), iotest.ErrReader(broken))} {
		if _, err := ReadToEnd(r, 4, four); !errors.Is(err, broken) && !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := ReadToEnd(strings.NewReader("abcd"), 4, four); err != nil || string(b) != "abcd" {
		t.Error(b, err)
	}
}

// sized says that it has n bytes.
type sized struct {
	io.Reader
	n int
}

func (s sized) Len() int { return s.n }

// Fewer bytes than were said, none of them too, are all that there are; elements without a size, and no elements, take nothing.
func TestFewer(t *testing.T) {
	defer Limit(0)
	settle()
	for _, text := range []string{"", "a", "ab"} {
		if b, err := ReadAll(sized{strings.NewReader(text), 2}); err != nil || string(b) != text {
			t.Errorf("%q of %q: %v", b, text, err)
		}
	}
	before := state.used
	none, err1 := Slice[int](0)
	empty, err2 := Slice[struct{}](7)
	if err1 != nil || err2 != nil || len(none) != 0 || len(empty) != 7 || state.used != before {
		t.Errorf("%d and %d elements, %d bytes are charged: %v, %v", len(none), len(empty), state.used-before, err1, err2)
	}
}

// A read that fails returns what it has, and leaves nothing charged that is not.
func TestFailedRead(t *testing.T) {
	defer Limit(0)
	settle()
	before := state.used
	Limit(before + 1<<20)
	made := 0
	create := func() []byte { made++; return make([]byte, 1<<19) }
	for _, n := range []int{0, 1, arrives - 1} { // less than must arrive before memory is allocated
		b, err := Read(strings.NewReader(strings.Repeat("a", n)), 1<<19, create)
		if want := fmt.Sprintf("truncated: %d bytes of data, want %d", n, 1<<19); len(b) != 0 || err == nil || n > 0 && err.Error() != want || made != 0 || state.used != before {
			t.Errorf("%d bytes, after %d, %d made, %d charged: %v", len(b), n, made, state.used-before, err)
		}
	}
	b, err := Read(strings.NewReader(strings.Repeat("a", arrives+1)), 1<<19, create)
	if err == nil || err.Error() != fmt.Sprintf("truncated: %d bytes of data, want %d", arrives+1, 1<<19) || made != 1 || state.used != before+1<<19 {
		t.Errorf("%d charged: %v", state.used-before, err)
	}
	runtime.KeepAlive(b)
}

// TestTally: nothing is charged at first, then more than is counted, but no more than half of what is left, nor less than what is counted.
func TestTally(t *testing.T) {
	defer Limit(0)
	settle()
	before := state.used
	Limit(before + 8<<20)
	var sum Tally
	for _, c := range []struct{ add, charged int64 }{
		{tallyFrom, 0},
		{1, tallyStep},
		{tallyStep - tallyFrom - 1, tallyStep},
		{1, 2 * tallyStep},
		{5 << 19, 2*tallyStep + 5<<19 - tallyStep + 1},
		{3 << 20, 2*tallyStep + 5<<19 - tallyStep + 1 + 3<<20},
	} {
		if err := sum.Add(c.add); err != nil || state.used-before != c.charged {
			t.Fatalf("%d more: %d bytes are charged, want %d: %v", c.add, state.used-before, c.charged, err)
		}
	}
	left := Left()
	if err := sum.Add(1); err != nil || Left() != left/2+left%2 {
		t.Errorf("%d bytes are left, %d were: %v", Left(), left, err)
	}
	if sum.Free(); state.used != before || sum != (Tally{}) {
		t.Errorf("%d bytes are charged", state.used-before)
	}
}
