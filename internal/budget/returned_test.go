package budget

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
)

// charges returns the bytes that are charged, beyond those from before the test, and limits them to most.
func charges(t *testing.T, most int64) func() int64 {
	t.Helper()
	settle()
	before := state.used
	Limit(before + most)
	t.Cleanup(func() { Limit(0) })
	return func() int64 { return state.used - before }
}

// TestReturned: what fails, or is stopped, at any point returns what it was charged, and what was made once is charged once.
func TestReturned(t *testing.T) {
	const most = 1 << 20
	used := charges(t, most)
	stopped := func() []byte { panic("stopped") }
	full := func(n int) []byte { t.Fatal("made beyond the limit"); return nil }
	for name, x := range map[string]struct {
		run  func() error
		want string
	}{
		"Read, more than the limit": {func() error {
			_, err := Read(unread{}, most+1, func() []byte { return full(0) })
			return err
		}, "reading 1048577 bytes: takes 1048577 bytes"},
		"Read, stopped": {func() error { _, err := Read(strings.NewReader(strings.Repeat("a", 9000)), 9000, stopped); return err }, "stopped"},
		"Read, the limit is reached": {func() error {
			return beside(t, func() error { _, err := Read(strings.NewReader(""), unchecked, stopped); return err })
		}, "reading 4096 bytes: takes 4096 bytes"},
		"Filled":          {func() error { _, err := Filled(most+1, full); return err }, "takes 1048577 bytes"},
		"Filled, stopped": {func() error { _, err := Filled(9000, func(int) []byte { panic("stopped") }); return err }, "stopped"},
		"Keep":            {func() error { return Keep(new([9]byte), most+1) }, "takes 1048577 bytes"},
		"Hold":            {func() error { return Hold(new([9]byte), most+1) }, "takes 1048577 bytes"},
		"ReadAll":         {func() error { _, err := ReadAll(strings.NewReader(strings.Repeat("a", most+1))); return err }, "reading 1048577 bytes: takes 1048577 bytes"},
		"ReadAll, unknown length": {func() error {
			_, err := ReadAll(io.MultiReader(strings.NewReader(strings.Repeat("a", 2*most))))
			return err
		}, "more than "},
		"Tally": {func() error {
			var sum Tally
			err := errors.Join(sum.Add(most/2), sum.Add(most))
			if sum.charged != most/2 {
				t.Errorf("a tally that failed has charged %d bytes", sum.charged)
			}
			sum.Free()
			return err
		}, "takes 1048576 bytes"},
	} {
		err := func() (err error) {
			defer func() {
				if s, ok := recover().(string); ok {
					err = errors.New(s)
				}
			}()
			return x.run()
		}()
		if err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", name, err, x.want)
		}
		if settle(); used() != 0 {
			t.Fatalf("%s: %d bytes are charged afterwards", name, used())
		}
	}
}

// beside runs f while all is charged.
func beside(t *testing.T, f func() error) error {
	n := Left()
	if err := Charge(n); err != nil {
		t.Fatal(err)
	}
	defer Discharge(n)
	return f()
}

// unread is a reader that may not be read.
type unread struct{}

func (unread) Read([]byte) (int, error) { panic("read") }

// TestSmallIsNotCharged: what takes less than 4096 bytes is made and read even where nothing is left, and takes nothing.
func TestSmallIsNotCharged(t *testing.T) {
	used := charges(t, 1<<20)
	for n, want := range map[int]int64{unchecked - 1: 0, unchecked: unchecked} {
		p, err := Made(int64(n), func() *[unchecked]byte { return new([unchecked]byte) })
		if err != nil || used() != want {
			t.Errorf("%d bytes: %d are charged, %v", n, used(), err)
		}
		runtime.KeepAlive(p)
		p = nil
		settle()
		b, err := Read(strings.NewReader(strings.Repeat("a", n)), n, func() []byte { return make([]byte, n) })
		if err != nil || used() != want {
			t.Errorf("%d bytes are read: %d are charged, %v", n, used(), err)
		}
		runtime.KeepAlive(b)
		b = nil
		settle()
	}
	if err := beside(t, func() error {
		_, err1 := Made(unchecked-1, func() *int { return new(int) })
		_, err2 := Read(strings.NewReader("ab"), 2, func() []byte { return make([]byte, 2) })
		return errors.Join(err1, err2)
	}); err != nil {
		t.Error(err)
	}
}

// TestTransferred: what a tally has charged is charged for the variable, and no longer for the tally. Less than is held charges nothing, and returns
// nothing.
func TestTransferred(t *testing.T) {
	used := charges(t, 8<<20)
	var sum Tally
	if err := sum.Add(1 << 20); err != nil {
		t.Fatal(err)
	}
	p := new([16]byte)
	if Transfer(&sum, p); sum != (Tally{}) || Held(p) != 1<<20 {
		t.Errorf("%+v is left, %d bytes are held", sum, Held(p))
	}
	if sum.Free(); used() != 1<<20 {
		t.Errorf("%d bytes are charged", used())
	}
	Count(p, 1<<19)
	if err := Hold(p, 1<<19); err != nil || used() != 1<<20 || Held(p) != 1<<20 {
		t.Errorf("%d bytes are charged, %d held: %v", used(), Held(p), err)
	}
	runtime.KeepAlive(p)
	p = nil
	if settle(); used() != 0 {
		t.Errorf("%d bytes are charged for nothing", used())
	}
}

// TestOnFull: what is kept for later makes room for what does not fit, when it does not, and only then.
func TestOnFull(t *testing.T) {
	used := charges(t, 1000)
	if err := Charge(600); err != nil {
		t.Fatal(err)
	}
	kept.Lock()
	before := kept.release
	kept.release = nil
	kept.Unlock()
	defer func() {
		kept.Lock()
		kept.release = before
		kept.Unlock()
	}()
	released := 0
	OnFull(func() {
		if released++; released == 1 {
			Discharge(600)
		}
	})
	for _, c := range []struct {
		n, used  int64
		released int
		ok       bool
	}{{400, 1000, 0, true}, {1001, 1000, 0, false}, {500, 900, 1, true}, {200, 900, 2, false}} {
		if err := Charge(c.n); (err == nil) != c.ok || used() != c.used || released != c.released {
			t.Errorf("%d bytes more: %v, %d are charged, released %d times; want %d and %d", c.n, err, used(), released, c.used, c.released)
		}
	}
	Discharge(used())
}

// TestLeftCollects: Left collects garbage if more than half of the limit is used, and more than an eighth may be garbage.
func TestLeftCollects(t *testing.T) {
	charges(t, 0)
	before := state.used
	for _, c := range []struct {
		used, fresh int64
		collects    bool
	}{{4000, 1001, false}, {4001, 1000, false}, {4001, 1001, true}, {8000, 0, false}, {0, 8000, false}} {
		Limit(8000)
		state.used, state.fresh = c.used, c.fresh
		if n := Left(); n != 8000-c.used || (state.fresh == 0) != (c.collects || c.fresh == 0) {
			t.Errorf("%d used, %d new: %d are left, %d new", c.used, c.fresh, n, state.fresh)
		}
	}
	state.used, state.fresh = before, 0
	Limit(0)
	p := new([16]byte)
	if err := Keep(p, 700); err != nil || state.fresh < 700 {
		t.Errorf("%d bytes are new: %v", state.fresh, err)
	}
	runtime.KeepAlive(p)
}

// closing counts how often its file is closed.
type closing struct {
	fs.FS
	closed *int
	info   error
}

type closingFile struct {
	fs.File
	of closing
}

func (c closing) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	return closingFile{f, c}, err
}

func (f closingFile) Close() error { *f.of.closed++; return f.File.Close() }

func (f closingFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return info, errors.Join(err, f.of.info)
}

// A file is closed when it was read, or could not be; it is read to its end without its size, too.
func TestFileIsClosed(t *testing.T) {
	used := charges(t, 1<<14)
	for _, c := range []struct {
		size int
		info error
		ok   bool
	}{{100, nil, true}, {9000, nil, true}, {1 << 15, nil, false}, {5000, fs.ErrPermission, true}, {1 << 15, fs.ErrPermission, false}} {
		closed := 0
		b, err := ReadFile(closing{fstest.MapFS{"f": {Data: make([]byte, c.size)}}, &closed, c.info}, "f")
		if (err == nil) != c.ok || closed != 1 || c.ok && len(b) != c.size {
			t.Errorf("%+v: %d bytes, closed %d times: %v", c, len(b), closed, err)
		}
		b = nil
		if settle(); used() != 0 {
			t.Fatalf("%d bytes are charged", used())
		}
	}
}

// TestMakeRoom: garbage beyond its share is collected when what is charged would not fit beside it, looked at once for each share of the limit.
func TestMakeRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory")
	}
	heapLimited(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var garbage []byte
	now := func() usage { heap.Lock(); defer heap.Unlock(); return readHeap() }
	for _, c := range []struct {
		name     string
		outside  int64 // of 100 MB beyond what is live
		charge   int64
		garbage  int
		collects bool
	}{
		{"all fits", 0, 8 << 20, 40 << 20, false},
		{"it does not fit", 0, 70 << 20, 40 << 20, true},
		{"it does not fit beside what is outside", 64 << 20, 8 << 20, 40 << 20, true},
		{"there is no garbage", 64 << 20, 70 << 20, 0, false},
		{"too little for a look", 64 << 20, 1 << 10, 40 << 20, false},
	} {
		LimitHeap(math.MaxInt64, math.MaxInt64)
		settle()
		u := now()
		LimitHeap(u.live+u.other+100<<20, math.MaxInt64)
		debug.SetMemoryLimit(math.MaxInt64) // so that Go collects nothing by itself
		heap.Lock()
		heap.outside += c.outside
		heap.Unlock()
		unseen.Store(0)
		garbage = make([]byte, c.garbage)
		runtime.KeepAlive(garbage)
		garbage = nil
		var before, after debug.GCStats
		debug.ReadGCStats(&before)
		makeRoom(c.charge)
		debug.ReadGCStats(&after)
		if got := after.NumGC > before.NumGC; got != c.collects {
			t.Errorf("%s: collected %v", c.name, got)
		}
		heap.Lock()
		heap.outside -= c.outside
		heap.Unlock()
	}
	looks := lookAt.Load()
	unseen.Store(0)
	for range 3 {
		makeRoom(looks - 1)
		if unseen.Load() != looks-1 {
			t.Errorf("%d bytes were not looked at, of %d", unseen.Load(), looks-1)
		}
		if makeRoom(1); unseen.Load() != 0 {
			t.Errorf("%d bytes are left", unseen.Load())
		}
	}
}

// TestOutsideCollects: what is mapped outside of Go's memory, beyond the limit, makes the system get back what Go does not need, at once; within it, nothing is collected.
func TestOutsideCollects(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory")
	}
	heapLimited(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var garbage []byte
	for _, c := range []struct {
		beyond  int64 // of the limit, of what is live
		outside int64
		want    bool
	}{{64 << 20, 40 << 20, true}, {48<<20 + leeway/2, leeway, true}, {128 << 20, 40 << 20, false}, {0, leeway - 1, false}} {
		LimitHeap(math.MaxInt64, math.MaxInt64)
		settle()
		heap.Lock()
		u := readHeap()
		heap.Unlock()
		garbage = make([]byte, 48<<20)
		runtime.KeepAlive(garbage)
		garbage = nil
		heap.Lock()
		heap.limit = u.live + u.other + u.free + c.beyond
		heap.Unlock()
		var before, after debug.GCStats
		debug.ReadGCStats(&before)
		Outside(c.outside)
		debug.ReadGCStats(&after)
		if got := after.NumGC > before.NumGC; got != c.want {
			t.Errorf("%d bytes outside, %d beyond what is live: collected %v", c.outside, c.beyond, got)
		}
		heap.Lock()
		heap.limit = math.MaxInt64
		heap.Unlock()
		Outside(-c.outside)
	}
}
