package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/imagefile"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
)

// routes registers the handlers by path.
func (h *endpoint) routes() {
	ok := func(v any) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { reply(w, v, nil) } }
	own := func(f http.HandlerFunc) http.HandlerFunc { // a model's name may contain characters that are special in patterns
		return func(w http.ResponseWriter, r *http.Request) {
			name, version := r.PathValue("model"), r.PathValue("version")
			if name != "" && name != h.name || version != "" && version != modelVersion {
				h.unknown(w, r)
				return
			}
			f(w, r)
		}
	}
	gets, posts := []string{"/health", "/v2", "/v2/health/live", "/v2/health/ready", "/metrics"}, []string{"/predict"}
	h.mux.HandleFunc("GET /health", ok(map[string]any{"status": "ok", "model": h.name}))
	h.mux.HandleFunc("GET /v2", ok(map[string]any{"name": "graft", "version": "2", "extensions": []string{}}))
	h.mux.HandleFunc("GET /v2/health/live", ok(map[string]bool{"live": true}))
	h.mux.HandleFunc("GET /v2/health/ready", ok(map[string]bool{"ready": true}))
	h.mux.HandleFunc("GET /metrics", h.figures.write)
	h.mux.HandleFunc("POST /predict", h.predict)
	for _, model := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		h.mux.HandleFunc("GET "+model, own(ok(h.metadata())))
		h.mux.HandleFunc("GET "+model+"/ready", own(ok(map[string]any{"name": h.name, "ready": true})))
		h.mux.HandleFunc("POST "+model+"/infer", own(h.infer))
		gets, posts = append(gets, model, model+"/ready"), append(posts, model+"/infer")
	}
	for _, path := range gets {
		h.mux.HandleFunc(path, own(notAllowed(http.MethodGet)))
	}
	for _, path := range posts {
		h.mux.HandleFunc(path, own(notAllowed(http.MethodPost)))
	}
	h.mux.HandleFunc("/", h.unknown)
}

// unknown answers requests to an unknown path.
func (h *endpoint) unknown(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusNotFound, fmt.Sprintf("%s %s: the model is %s; POST /predict or %s/infer", r.Method, r.URL.Path, h.name, h.path()))
}

// path returns the path of the model in the protocol.
func (h *endpoint) path() string { return "/v2/models/" + url.PathEscape(h.name) }

// notAllowed answers requests to a path with a method other than the given one.
func notAllowed(method string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", method)
		refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s %s: want %s", r.Method, r.URL.Path, method))
	}
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": why})
}

// predict answers requests with an image or with JSON objects.
func (h *endpoint) predict(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	asPNG := r.URL.Query().Has("png")
	if err == nil && asPNG && h.drawn == nil {
		err = errors.New("png: the model's output is not a mask or an image")
	}
	if err != nil {
		reply(w, nil, err)
		return
	}
	fields := func(x answer) (map[string]any, error) {
		if asPNG {
			return h.drawn.png(x)
		}
		return x.fields(h.top), nil
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "image/") || imagefile.Named(contents(body)) {
		list, err := h.image(r.Context(), body)
		if err != nil {
			reply(w, nil, err)
			return
		}
		one, err := fields(list[0])
		reply(w, one, err)
		return
	}
	samples, many, err := samplesIn(body)
	if err != nil {
		reply(w, nil, err)
		return
	}
	var all bytes.Buffer // answers, separated by commas: one value for each would take many times its text
	n := 0
	for x, err := range h.objects(r.Context(), samples) {
		var f map[string]any
		var text []byte
		if err == nil {
			f, err = fields(x)
		}
		if err == nil {
			text, err = json.Marshal(f)
		}
		if err == nil && int64(all.Len()+len(text)) > h.bodies {
			err = fmt.Errorf("the answers are larger than %d bytes, as --max-bodies says: want fewer samples in a request", h.bodies)
		}
		if err != nil {
			reply(w, nil, err)
			return
		}
		if n++; n > 1 {
			all.WriteByte(',')
		}
		all.Write(text)
	}
	w.Header().Set("Content-Type", "application/json")
	before, after := "", "\n"
	if many || n != 1 {
		before, after = `{"predictions":[`, "]}\n"
	}
	for _, text := range [][]byte{[]byte(before), all.Bytes(), []byte(after)} {
		if _, err := w.Write(text); err != nil {
			return // the client is gone
		}
	}
}

// mostAnswered and mostText bound the samples of a request, and the bytes of their JSON, that are decoded and computed together:
// they take some thirty times the memory of the text.
const mostAnswered, mostText = 1024, 1 << 20

// samplesIn finds the samples of a request: an object, several in a list, in {"samples": […]} or one after the other. They are decoded
// later, a part at a time. many reports whether it is a list.
func samplesIn(body []byte) (samples iter.Seq2[[]byte, error], many bool, err error) {
	var wrapped struct {
		Samples json.RawMessage `json:"samples"`
	}
	if json.Unmarshal(body, &wrapped) == nil && wrapped.Samples != nil {
		body, many = wrapped.Samples, true
	}
	body = bytes.TrimSpace(body)
	switch {
	case bytes.HasPrefix(body, []byte("[")):
		if err := json.Unmarshal(body, &unread{}); err != nil {
			return nil, true, objectError(body, 1, err)
		}
		for range jsonValues(body) {
			return func(yield func([]byte, error) bool) {
				for text := range jsonValues(body) {
					if !yield(text, nil) {
						return
					}
				}
			}, true, nil
		}
		return nil, true, errors.New("no samples")
	case bytes.HasPrefix(body, []byte("{")):
		return func(yield func([]byte, error) bool) {
			d := json.NewDecoder(bytes.NewReader(body))
			for n := 1; ; n++ {
				var text json.RawMessage
				err := d.Decode(&text)
				if err == io.EOF {
					return
				}
				if err != nil {
					err = objectError(body, n, err)
				}
				if !yield(text, err) || err != nil {
					return
				}
			}
		}, many, nil
	}
	return nil, false, errors.New("want a JSON object with a value for each input or column, a list of them, or an image with Content-Type: image/…")
}

// unread is a JSON value that is checked and not decoded.
type unread struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*unread) UnmarshalJSON([]byte) error { return nil }

// objects answers for JSON objects, some at a time.
func (h *endpoint) objects(ctx context.Context, samples iter.Seq2[[]byte, error]) iter.Seq2[answer, error] {
	return func(yield func(answer, error) bool) {
		var rows []map[string]any
		before, size := 0, 0
		flush := func() (ok bool) {
			for x, err := range h.together(ctx, rows, before) {
				if !yield(x, err) || err != nil {
					return false
				}
			}
			before, size, rows = before+len(rows), 0, nil
			return true
		}
		for text, err := range samples {
			var row jsonObject
			if err == nil {
				if err = json.Unmarshal(text, &row); err != nil {
					err = fmt.Errorf("object %d: %w", before+len(rows)+1, plainError(err))
				}
			}
			if err != nil {
				yield(answer{}, err)
				return
			}
			if len(rows) == mostAnswered || size+len(text) > mostText && len(rows) > 0 {
				if !flush() {
					return
				}
			}
			rows, size = append(rows, row), size+len(text)
		}
		flush()
	}
}

// together answers for objects that follow the given number of others in a request.
func (h *endpoint) together(ctx context.Context, rows []map[string]any, before int) iter.Seq2[answer, error] {
	return func(yield func(answer, error) bool) {
		s, err := rowSource(ctx, h.b.g, "request", rows, before, h.texts)
		if err == nil && !takesImages(h.b.g) {
			s, err = h.scaled(s, "request", h.b.g)
		}
		if err != nil {
			yield(answer{}, err)
			return
		}
		parts := textParts{source: s}
		for index := range slices.Chunk(upTo(s.n), mostAnswered) {
			feed, err := s.feed(ctx, index)
			var list []answer
			if err == nil {
				list, err = h.answers(ctx, feed, len(index))
			}
			if err != nil {
				yield(answer{}, err)
				return
			}
			for k, x := range list {
				whole := true
				if s.words != nil {
					x, whole = parts.add(index[k], x)
				}
				if whole && !yield(x, nil) {
					return
				}
			}
		}
	}
}

// image answers for an encoded image, preprocessed like a file.
func (h *endpoint) image(ctx context.Context, b []byte) ([]answer, error) {
	if !takesImages(h.b.g) {
		return nil, fmt.Errorf("the model does not take images: its inputs are %v", ports(h.b.g.Inputs()))
	}
	if h.unprepared != nil {
		return nil, h.unprepared
	}
	f, release, err := disk.Scratch("graft-image-*")
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := f.Write(b); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	x, err := h.prepareFile(h.prep, f.Name())
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), f.Name(), "request"))
	}
	batch, err := data.Collate([]data.Sample{x})
	if err != nil {
		return nil, err
	}
	list, err := h.answers(ctx, nn.Feed{h.b.g.Inputs()[0].Name(): batch.X[0]}, 1)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].size, err = data.ImageSize(f.Name()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (h *endpoint) answers(ctx context.Context, feed nn.Feed, n int) ([]answer, error) {
	out, err := h.ask(ctx, feed, n)
	if err != nil {
		return nil, err
	}
	list, err := h.a.read(out)
	if err == nil && len(list) != n {
		err = fmt.Errorf("the model returned %d results for %d samples", len(list), n)
	}
	return list, err
}

// figures counts requests, for Prometheus.
type figures struct {
	mu       sync.Mutex
	requests map[int]int // by status code
	samples  int
	batches  int
	seconds  float64
}

func (f *figures) request(code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.requests == nil {
		f.requests = map[int]int{}
	}
	f.requests[code]++
}

func (f *figures) ran(samples int, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.samples, f.batches, f.seconds = f.samples+samples, f.batches+1, f.seconds+took.Seconds()
}

// write writes the counters in Prometheus's text format.
func (f *figures) write(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintln(w, "# HELP graft_requests_total Requests answered, by status.\n# TYPE graft_requests_total counter")
	for _, code := range slices.Sorted(maps.Keys(f.requests)) {
		fmt.Fprintf(w, "graft_requests_total{code=\"%d\"} %d\n", code, f.requests[code])
	}
	fmt.Fprintf(w, "# HELP graft_samples_total Samples that the model was run on.\n# TYPE graft_samples_total counter\ngraft_samples_total %d\n", f.samples)
	fmt.Fprintf(w, "# HELP graft_run_seconds Time that the model ran, by batch.\n# TYPE graft_run_seconds summary\ngraft_run_seconds_sum %g\ngraft_run_seconds_count %d\n", f.seconds, f.batches)
}

// counted records the status code of a response.
type counted struct {
	http.ResponseWriter
	code  int
	alone func() bool // no other request was handled since this one began
}

// aloneIn reports whether no other request was handled since the one with this answer began.
func aloneIn(w http.ResponseWriter) bool {
	c, ok := w.(*counted)
	return ok && c.alone()
}

// WriteHeader implements http.ResponseWriter.
func (c *counted) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}
