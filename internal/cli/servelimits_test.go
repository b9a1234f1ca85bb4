package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// A second connection is accepted only after the first one is closed, and closing the listener ends the wait.
func TestLimitConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limitConnections(inner, 1)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	defer dial().Close()
	defer dial().Close()
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if len(l.open) != cap(l.open) {
		t.Fatalf("%d of %d connections are open", len(l.open), cap(l.open))
	}
	for range 2 { // a second Close must not release another connection
		_ = first.Close()
	}
	if _, err := l.Accept(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepted after Close: %v", err)
	}
}

// The bodies of all requests share a limit; a request that has been answered no longer counts.
func TestServeBodies(t *testing.T) {
	h := &endpoint{service: service{body: 8, bodies: 10, timeout: time.Minute}, mux: http.NewServeMux()}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		reply(w, "read", err)
	})
	send := func(path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader("12345678")))
		return w.Code
	}
	second := 0
	h.mux.HandleFunc("/first", func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		second = send("/") // while the first body is in memory
		reply(w, "read", err)
	})
	if first := send("/first"); first != 200 || second != 503 {
		t.Errorf("8 of 10 bytes: %d, 8 more: %d", first, second)
	}
	if code := send("/"); code != 200 || h.inMemory.Load() != 0 {
		t.Errorf("after the answers: %d, %d bytes are in memory", code, h.inMemory.Load())
	}
}

// Too little memory is status 503 beside other requests, and 413 for a request that does not fit alone.
func TestServeLittleMemory(t *testing.T) {
	path, _, _ := made(t, "mlp --input 2", []int{1, 2})
	s := service{body: 64 << 20, bodies: 64 << 20, timeout: time.Minute, batchSize: 8, queue: 8, connections: 1, top: 1}
	h, err := s.handler(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 1 << 18
	numbers := "[1,2" + strings.Repeat(",1,2", rows-1) + "]"
	send := func(path, body string) (int, string, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
		return w.Code, w.Header().Get("Retry-After"), w.Body.String()
	}
	nn.LimitMemory(1 << 20)
	defer nn.LimitMemory(0)
	for path, large := range map[string]string{
		"/predict":          `{"x":` + numbers + `}`,
		h.path() + "/infer": fmt.Sprintf(`{"inputs":[{"name":"x","shape":[%d,2],"datatype":"FP32","data":%s}]}`, rows, numbers),
	} {
		if code, retry, text := send(path, large); code != 413 || retry != "" || !strings.Contains(text, "bytes of memory") {
			t.Errorf("%s alone: %d %.200s", path, code, text)
		}
		slow, end := io.Pipe()
		done := make(chan int)
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("POST", path, slow))
			done <- w.Code
		}()
		if _, err := io.WriteString(end, `{"x":`); err != nil { // read once the request is handled
			t.Fatal(err)
		}
		if code, retry, text := send(path, large); code != 503 || retry == "" {
			t.Errorf("%s beside another: %d %.200s", path, code, text)
		}
		_, err := io.WriteString(end, `[1,2]}`)
		if err := errors.Join(err, end.Close()); err != nil {
			t.Fatal(err)
		}
		<-done
	}
}

// A panic is answered with an error, and does not end the server.
func TestServePanic(t *testing.T) {
	h := &endpoint{service: service{body: 8, bodies: 8, timeout: time.Minute}, mux: http.NewServeMux()}
	h.mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { panic("a fault") })
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), errInternal.Error()) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, n := range []int{1, 2} { // alone, and together
		b := &batcher{ran: func(int, time.Duration) {}} // without a graph, Eval panics
		var jobs []*job
		for range n {
			jobs = append(jobs, &job{ctx: context.Background(), n: 1, done: make(chan struct{})})
		}
		b.serve(jobs)
		for _, j := range jobs {
			if <-j.done; !errors.Is(j.err, errInternal) {
				t.Errorf("%d jobs: %v", n, j.err)
			}
		}
	}
}

// Values are read as encoding/json reads them.
func TestJSONList(t *testing.T) {
	const text = ` [ [1.5, -2e3 ,3],	[4,5,12345678901234567890]
] `
	var want [][]json.Number
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	rows, err := objects(t.Context(), []byte(`{"a":`+text+`,"b":["x, ]\"","ä",{"k":[1]},null,true],"c":[],"d":[[],[]]}`))
	if err != nil {
		t.Fatal(err)
	}
	flat, shape, err := flatten(rows[0]["a"])
	if err != nil || !reflect.DeepEqual(shape, []int{2, 3}) {
		t.Fatal(shape, err)
	}
	for i, x := range flat {
		if x != want[i/3][i%3] {
			t.Errorf("element %d is %v, want %v", i, x, want[i/3][i%3])
		}
	}
	for key, want := range map[string]string{"b": `[5] [x, ]" ä {"k":[1]} <nil> true]`, "c": "[0] []", "d": "[2 0] []"} {
		flat, shape, err := flatten(rows[0][key])
		if got := fmt.Sprint(shape, " ", flat); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", key, got, err, want)
		}
	}
	for text, want := range map[string]string{
		`[[1,2],[3]]`: "a list of lists of unequal length, [2] and [1]",
		`[1,[2]]`:     "unequal length",
		strings.Repeat("[", maxRank+1) + strings.Repeat("]", maxRank+1): "nested more than 64 deep",
	} {
		if _, _, err := flatten(jsonList(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %s", text, err, want)
		}
	}
	f := filler{of: dtype.Int64}
	if err := f.reserve(jsonList("[9007199254740993,2]")); err != nil {
		t.Fatal(err)
	}
	if _, err := eachElement(jsonList("[9007199254740993,2]"), f.add); err != nil || f.ints[0] != 9007199254740993 {
		t.Error(f.ints, err)
	}
}

// TestServeMemory sends a request of many small values, which must not take many times the memory of its text: it is refused after the
// first part, or before it is decoded.
func TestServeMemory(t *testing.T) {
	path, _, _ := made(t, "mlp --input 2", []int{1, 2})
	s := service{body: 64 << 20, bodies: 64 << 20, timeout: time.Minute, batchSize: 8, queue: 8, connections: 1, top: 1}
	h, err := s.handler(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	many := func(before, one, after string) string {
		return before + strings.Repeat(one+",", 1_000_000) + one + after
	}
	for name, c := range map[string]struct{ path, body, want string }{
		"objects":            {"/predict", many("[", "{}", "]"), "object 1: no value for input x"},
		"objects in one":     {"/predict", many(`{"x":[1,2],"y":[`, "{}", "]}"), "value"},
		"keys":               {"/predict", `{` + manyKeys(mostKeys+1) + `}`, "more than 65536 keys"},
		"an object as input": {"/predict", `{"x":{"a":` + many("[", "[]", "]") + `}}`, "is not a number"},
		"inputs":             {"/v2/models/m/infer", many(`{"inputs":[`, "{}", "]}"), "a list of more than 1000 values"},
		"outputs":            {"/v2/models/m/infer", many(`{"outputs":[`, "{}", "]}"), "a list of more than 1000 values"},
		"shape":              {"/v2/models/m/infer", many(`{"inputs":[{"shape":[`, "1", "]}]}"), "a list of more than 64 values"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", c.path, strings.NewReader(c.body)))
		runtime.ReadMemStats(&after)
		if got := w.Body.String(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %.200s, want %s", name, got, c.want)
		}
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(12*len(c.body)+60<<20); used > most {
			t.Errorf("%s: %d bytes of JSON took %d, want at most %d", name, len(c.body), used, most)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%d":1`, i)
	}
	return b.String()
}
