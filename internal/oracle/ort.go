package oracle

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed ort.js
var ortScript string

// Runtime is a running ONNX Runtime: a node process that answers one request at a time. Its methods may be called from
// any number of goroutines. After a crash or a time-out the next call starts a new process.
type Runtime struct {
	// Optimize enables ONNX Runtime's graph optimizations; by default the file is run as it is, on one thread.
	Optimize bool
	// Timeout bounds one call; zero means two minutes.
	Timeout time.Duration

	mu      sync.Mutex
	folder  string
	version string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  bytes.Buffer
}

// ORT starts ONNX Runtime for the duration of a test: start it once and use it in the subtests. It skips the test, or
// fails it where oracles are required, when node or onnxruntime-node is missing.
func ORT(t testing.TB) *Runtime {
	t.Helper()
	r, err := Start()
	if err != nil {
		missing(t, "%v", err)
	}
	t.Cleanup(r.Close)
	return r
}

// Start starts ONNX Runtime for a program, which must Close it.
func Start() (*Runtime, error) {
	r := &Runtime{folder: folder("GRAFT_ORT", "ort")}
	if _, err := exec.LookPath("node"); err != nil {
		return nil, fmt.Errorf("ONNX Runtime: %w", err)
	}
	if _, err := os.Stat(filepath.Join(r.folder, "node_modules", "onnxruntime-node")); err != nil {
		return nil, fmt.Errorf("ONNX Runtime: %w", err)
	}
	return r, r.start()
}

// Version is ONNX Runtime's version, "1.30.0".
func (r *Runtime) Version() string { return r.version }

// Run loads a serialized ModelProto, feeds inputs by name and returns every graph output by name.
func (r *Runtime) Run(model []byte, inputs map[string]Tensor) (map[string]Tensor, error) {
	if len(model) == 0 {
		return nil, errors.New("oracle: the model is empty")
	}
	return r.call(request{Model: model, Inputs: inputs, Optimize: r.Optimize})
}

// RunFile is Run on a file, in whose folder external data are found.
func (r *Runtime) RunFile(path string, inputs map[string]Tensor) (map[string]Tensor, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	return r.call(request{Path: path, Inputs: inputs, Optimize: r.Optimize})
}

// SaveOptimized writes the model in the file path to the file save as the runtime's graph optimizer leaves it at a level:
// "basic", "extended" or, for this processor alone, "all".
func (r *Runtime) SaveOptimized(path, save, level string) error {
	path, err := filepath.Abs(path)
	if err == nil {
		save, err = filepath.Abs(save)
	}
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	_, err = r.call(request{Path: path, Save: save, Level: level})
	return err
}

// Close ends the process. Calling it twice does no harm.
func (r *Runtime) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
}

type request struct {
	Path     string            `json:"path,omitempty"`
	Model    []byte            `json:"model,omitempty"`
	Optimize bool              `json:"optimize"`
	Save     string            `json:"save,omitempty"`
	Level    string            `json:"level,omitempty"`
	Inputs   map[string]Tensor `json:"inputs"`
}

type answer struct {
	Ready   string            `json:"ready"`
	Error   string            `json:"error"`
	Outputs map[string]Tensor `json:"outputs"`
}

func (r *Runtime) call(q request) (map[string]Tensor, error) {
	for name, t := range q.Inputs {
		if t.Shape == nil { // null is not a shape in JSON
			t.Shape = []int{}
			q.Inputs[name] = t
		}
	}
	line, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil {
		if err := r.start(); err != nil {
			return nil, err
		}
	}
	a, err := r.exchange(append(line, '\n'))
	if err != nil {
		return nil, err
	}
	if a.Error != "" {
		return nil, fmt.Errorf("oracle: ONNX Runtime: %s", a.Error)
	}
	return a.Outputs, nil
}

func (r *Runtime) start() error {
	r.stderr.Reset()
	cmd := exec.Command("node", "-e", ortScript, "--", r.folder)
	cmd.Stderr = &r.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	r.cmd, r.in, r.out = cmd, in, bufio.NewReaderSize(out, 1<<16)
	a, err := r.exchange(nil)
	if err != nil {
		return err
	}
	if a.Error != "" {
		r.stop()
		return fmt.Errorf("oracle: ONNX Runtime does not load: %s", a.Error)
	}
	r.version = a.Ready
	return nil
}

// exchange sends a line, if there is one, and waits for the answer; after an error the process is ended.
func (r *Runtime) exchange(line []byte) (a answer, err error) {
	limit := r.Timeout
	if limit == 0 {
		limit = 2 * time.Minute
	}
	process := r.cmd.Process
	timer := time.AfterFunc(limit, func() { process.Kill() })
	_, err = r.in.Write(line)
	var reply []byte
	if err == nil {
		reply, err = r.out.ReadBytes('\n')
	}
	late := !timer.Stop()
	if err == nil {
		err = json.Unmarshal(reply, &a)
	}
	if err == nil {
		return a, nil
	}
	r.stop() // waits for the process, so stderr is complete
	if late {
		return a, fmt.Errorf("oracle: ONNX Runtime gave no answer within %v", limit)
	}
	return a, fmt.Errorf("oracle: ONNX Runtime died: %w: %s", err, tail(r.stderr.String(), 600))
}

func (r *Runtime) stop() {
	if r.cmd == nil {
		return
	}
	r.in.Close()
	r.cmd.Process.Kill()
	r.cmd.Wait() // it was killed: its exit status is meaningless
	r.cmd = nil
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-n):]
}
