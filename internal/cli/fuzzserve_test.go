package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/graft-ml/graft/cmd/graft/demo"
)

// FuzzServe sends bodies of any bytes to a served image model, as samples, as images and in KServe's protocol. Every
// answer is JSON with the status of a result or of a bad request: no panic, which would be status 500, no timeout, and no
// byte of a body stays counted.
func FuzzServe(f *testing.F) {
	for _, s := range []string{
		`{"image": [[[0.5]]]}`, `[{"image": []}, {"image": null}]`, `{"samples": [{"x": 1e400}]}`, `{"samples": {"samples": []}}`, `[[[[[[]]]]]]`, `null`, `{"a": 1, "a": 2}`,
		`{"inputs": [{"name": "image", "shape": [1, 1, 28, 28], "datatype": "FP32", "data": [1, 2]}]}`,
		`{"inputs": [{"name": "image", "shape": [-1, 9223372036854775807], "datatype": "BYTES", "data": ["a"]}], "outputs": [{"name": "?"}]}`,
		`{"id": 7, "inputs": [{"shape": [0, 1, 28, 28], "datatype": "UINT8", "data": [[[]]]}]}`,
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00",
	} {
		for at := range uint8(4) {
			f.Add(at, []byte(s))
		}
	}
	model := filepath.Join(f.TempDir(), "m.onnx")
	if err := os.WriteFile(model, demo.Model(), 0o600); err != nil {
		f.Fatal(err)
	}
	s := quick
	s.wait = time.Microsecond
	h, err := s.handler(context.Background(), model)
	if err != nil {
		f.Fatal(err)
	}
	allowed := []int{http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge}
	f.Fuzz(func(t *testing.T, at uint8, body []byte) {
		path := []string{"/predict", "/predict", "/v2/models/m/infer", "/v2/models/m/versions/1/infer"}[at%4]
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		if at%4 == 1 {
			r.Header.Set("Content-Type", "image/png")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !slices.Contains(allowed, w.Code) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: status %d, %q", path, w.Code, w.Body)
		}
		if n := h.inMemory.Load(); n != 0 {
			t.Errorf("%s: %d bytes of the body are still counted", path, n)
		}
	})
}
