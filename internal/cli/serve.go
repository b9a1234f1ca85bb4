package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/spf13/cobra"
	"gorgonia.org/tensor"
)

// service holds the flags of the serve command.
type service struct {
	source
	preparing
	textual
	address, name string
	top           int
	batchSize     int
	wait, timeout time.Duration
	queue         int
	body, bodies  int64
	connections   int
	as            string
	data          string // images on which the preprocessing is measured
	process       *process
}

func newServe(p *process) *cobra.Command {
	s := service{process: p}
	cmd := &cobra.Command{
		Use:   "serve MODEL",
		Short: "Serve a model over HTTP: JSON, images, and the KServe v2 protocol",
		Long: `serve answers HTTP requests until it is interrupted; requests in progress are finished first.

POST /predict takes an image (Content-Type: image/…), a JSON object, a list of objects, or {"samples":[…]}; keys are the names
of columns or inputs. The answer and the preprocessing are those of predict --json. POST /v2/models/NAME/infer, GET
/v2/models/NAME, /v2/health/live and /v2/health/ready are the open inference protocol, version 2 (KServe), on the inputs of the
file. POST /predict?png answers masks and images as PNG files in base64. GET /metrics has counters for Prometheus. Requests that arrive within --wait run as one batch.`,
		Example: `  graft serve flowers.onnx --listen localhost:8080
  curl --data-binary @rose.jpg -H 'Content-Type: image/jpeg' localhost:8080/predict
  curl -d '{"area":120,"city":"Rome"}' localhost:8080/predict`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	s.source.flags(cmd)
	s.preparing.flags(cmd)
	s.textFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&s.address, "listen", "localhost:8080", "address and port to listen on; :8080 is all interfaces, port 0 a free one")
	f.StringVar(&s.name, "name", "", "the model's name in URLs; default: the file's")
	f.IntVar(&s.top, "top", 3, "number of classes in a response")
	f.IntVar(&s.batchSize, "batch", 32, "largest batch")
	f.DurationVar(&s.wait, "wait", 2*time.Millisecond, "how long a request waits for others to form a batch")
	f.DurationVar(&s.timeout, "timeout", 30*time.Second, "time limit of a request")
	f.IntVar(&s.queue, "queue", 256, "requests that may wait; further ones get status 503")
	f.Int64Var(&s.body, "max-body", 32<<20, "largest request body, in bytes")
	f.Int64Var(&s.bodies, "max-bodies", 64<<20, "largest sum of the request bodies in memory, in bytes; further requests get status 503")
	f.IntVar(&s.connections, "connections", 1024, "open connections; further ones wait")
	f.StringVar(&s.data, "data", "", "folder or file of images to estimate the preprocessing from, if the model's metadata have none")
	f.Lookup("preset").Usage = strings.Replace(f.Lookup("preset").Usage, "or estimated", "or estimated from --data", 1)
	f.StringVar(&s.as, "as", "", "kind of the outputs: classes, values or arrays; default: detected")
	return cmd
}

// beingSent is how long a request that was sent before an interruption may take until its first byte is read.
const beingSent = 100 * time.Millisecond

func (s service) run(ctx context.Context, w io.Writer, model string) error {
	working, end := context.WithCancel(context.WithoutCancel(ctx)) // until the requests in progress are finished
	defer end()
	loading := context.AfterFunc(ctx, end)
	h, err := s.handler(working, model)
	if loading(); err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", s.address)
	if _, number := strconv.ParseUint(s.address, 10, 64); err != nil && number == nil {
		return fmt.Errorf("--listen %[1]s: want HOST:PORT: localhost:%[1]s, or :%[1]s for all interfaces", s.address)
	}
	if err != nil {
		return fmt.Errorf("--listen %s: %w; want HOST:PORT, such as localhost:8080", s.address, err)
	}
	if h.unprepared != nil {
		fmt.Fprintf(w, "images are refused: %v\n", h.unprepared)
	} else {
		tellFound(w, h.prep)
	}
	s.process.finish()
	fmt.Fprintf(w, "serving %s at http://%s; POST /predict or %s/infer\n", model, l.Addr(), h.path())
	read := max(s.timeout, 10*time.Second)
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: read, WriteTimeout: 2*read + s.timeout, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	limited := limitConnections(l, s.connections)
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.Background(), s.timeout)
		defer cancel()
		silent := time.AfterFunc(beingSent, limited.closeSilent) // Shutdown waits five seconds for a first request
		defer silent.Stop()
		err := server.Shutdown(end)
		stopped <- errors.Join(err, server.Close())
	})
	defer stop()
	if err := server.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// endpoint answers requests for one model.
type endpoint struct {
	service
	name       string
	a          *answerer
	drawn      *answerer // draws the output of a model if it is a mask or image; nil for other models
	b          *batcher
	prep       train.Preparation // of images
	unprepared error             // why prep is not available
	fixed      int               // the model's fixed batch size; 0: any
	texts      *texts            // tokenization of a model that reads texts; nil for others
	mux        *http.ServeMux
	figures    figures
	crowd      crowd
	inMemory   atomic.Int64 // bytes of request bodies
}

// handler loads the model and returns its endpoint, which works until the context ends.
func (s service) handler(ctx context.Context, model string) (*endpoint, error) {
	for _, n := range []struct {
		flag, of string
		value    int64
	}{{"top", "classes", int64(s.top)}, {"batch", "samples", int64(s.batchSize)}, {"queue", "requests that may wait", int64(s.queue)}, {"max-body", "bytes", s.body}, {"max-bodies", "bytes", s.bodies}, {"connections", "connections", int64(s.connections)}} {
		if n.value < 1 {
			return nil, fmt.Errorf("--%s %d: want 1 or more %s", n.flag, n.value, n.of)
		}
	}
	if s.wait < 0 {
		return nil, fmt.Errorf("--wait %v: want 0 or a length of time, such as 5ms", s.wait)
	}
	if s.timeout <= 0 {
		return nil, fmt.Errorf("--timeout %v: want a length of time, such as 30s", s.timeout)
	}
	g, err := s.loadToRun(model)
	if err != nil {
		return nil, err
	}
	if err := onnxio.CheckData(g); err != nil {
		return nil, fmt.Errorf("%s: %w", model, err)
	}
	_ = freeBatch(g, 0) // the batch size stays fixed if it cannot be freed
	h := &endpoint{service: s, name: s.name, mux: http.NewServeMux()}
	if h.name == "" {
		h.name = strings.TrimSuffix(filepath.Base(model), filepath.Ext(model))
	}
	if h.texts, err = s.newTexts(ctx, g); err != nil {
		return nil, err
	}
	if h.a, err = newAnswerer(g, s.as); err != nil {
		return nil, err
	}
	if h.a.drawn() {
		drawn := *h.a
		h.drawn = &drawn
		h.a.kind = "arrays"
		s.uncropped = true
	}
	if takesImages(g) {
		if s.data != "" && s.preset != "" {
			return nil, fmt.Errorf("--data %s would estimate the preprocessing, which --preset %s sets: give one of the two", s.data, s.preset)
		}
		h.prep, h.unprepared = s.settle(ctx, g, g.Inputs()[0].Type(), s.some)
		if h.unprepared != nil && !errors.Is(h.unprepared, errUnprepared) {
			return nil, h.unprepared
		}
		if h.drawn != nil && h.unprepared == nil {
			h.drawn.fed = extent(h.prep.Preprocess)
		}
	} else if s.data != "" {
		return nil, fmt.Errorf("--data %s: the model does not take images: its inputs are %v", s.data, ports(g.Inputs()))
	} else if i := slices.IndexFunc(forImages, func(f string) bool { return s.changed(f) }); i >= 0 {
		return nil, fmt.Errorf("--%s: the model does not take images: its inputs are %v", forImages[i], ports(g.Inputs()))
	} else if err := s.forColumns(g, model); err != nil {
		return nil, err
	}
	if b, fixed := fixedBatch(g); fixed {
		h.fixed, h.batchSize = b, 1
	}
	h.b = &batcher{g: g, names: h.a.names(), most: h.batchSize, wait: s.wait, queue: make(chan *job, s.queue), ran: h.figures.ran}
	for range 2 { // one prepares its inputs while the other runs
		go h.b.run(ctx)
	}
	h.routes()
	return h, nil
}

var errUnprepared = errors.New("the model's metadata do not say how images are preprocessed: give --preset, or --data with images to estimate it from")

// some returns the images of --data.
func (s service) some(base data.Preprocess) ([]*tensor.Dense, error) {
	if s.data == "" {
		return nil, errUnprepared
	}
	files, err := imageFiles(s.data)
	if err != nil {
		return nil, err
	}
	return measuredImages(base, files), nil
}

// ServeHTTP implements http.Handler, with limits, timing and counting for all requests.
func (h *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), h.timeout)
	defer cancel()
	body := &meteredBody{ReadCloser: http.MaxBytesReader(w, r.Body, h.body), total: &h.inMemory, most: h.bodies}
	defer body.release()
	r.Body = body
	alone, leave := h.crowd.enter()
	defer leave()
	c := &counted{ResponseWriter: w, code: http.StatusOK, alone: alone}
	err := protected(func() error {
		h.mux.ServeHTTP(c, r.WithContext(ctx))
		return nil
	})
	if err != nil {
		reply(c, nil, err)
	}
	h.figures.request(c.code)
}

// ask runs the model on n samples. If its batch size is fixed, batches are padded with the last sample.
func (h *endpoint) ask(ctx context.Context, feed nn.Feed, n int) (nn.Feed, error) {
	if h.fixed == 0 || n == h.fixed || n == 0 || !haveRows(feed, n) { // the model refuses other sizes itself
		return h.b.ask(ctx, feed, n)
	}
	var parts []nn.Feed
	for rows := range slices.Chunk(upTo(n), h.fixed) {
		k := len(rows)
		rows = slices.Clone(rows)
		for len(rows) < h.fixed {
			rows = append(rows, n-1)
		}
		part, err := pick(feed, rows)
		if err != nil {
			return nil, err
		}
		out, err := h.b.ask(ctx, part, h.fixed)
		if err != nil {
			return nil, err
		}
		if !haveRows(out, h.fixed) {
			return nil, fmt.Errorf("the model takes %d samples at a time, and not all of its outputs have a row for each: want %[1]d samples, got %d", h.fixed, n)
		}
		if out, err = pick(out, upTo(k)); err != nil {
			return nil, err
		}
		parts = append(parts, out)
	}
	return joinFeeds(parts)
}

// haveRows reports whether the first axis of all values has the length n.
func haveRows(feed nn.Feed, n int) bool {
	for _, v := range feed {
		if s := v.Shape(); len(s) == 0 || s[0] != n {
			return false
		}
	}
	return true
}

// reply writes an answer, or an error with its status.
func reply(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var large *http.MaxBytesError
		var full *budget.Error
		code := http.StatusBadRequest
		switch {
		case errors.Is(err, errInternal):
			code = http.StatusInternalServerError
		case errors.As(err, &full) && aloneIn(w):
			code = http.StatusRequestEntityTooLarge
		case errors.Is(err, errBusy) || full != nil:
			w.Header().Set("Retry-After", "1")
			code = http.StatusServiceUnavailable
		case errors.Is(err, context.DeadlineExceeded):
			code, err = http.StatusGatewayTimeout, errors.New("the request took too long")
		case errors.As(err, &large):
			code, err = http.StatusRequestEntityTooLarge, fmt.Errorf("the request is larger than %d bytes", large.Limit)
		}
		w.WriteHeader(code)
		v = map[string]string{"error": plainError(err).Error()}
	}
	_ = json.NewEncoder(w).Encode(v)
}
