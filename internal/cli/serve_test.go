package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/glyph"
)

// serving starts a server for a model.
func serving(t *testing.T, model string, s service) *httptest.Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h, err := s.handler(ctx, model)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() { server.Close(); cancel() })
	return server
}

var quick = service{top: 3, batchSize: 8, wait: 2 * time.Millisecond, timeout: 20 * time.Second, queue: 64, body: 1 << 16, bodies: 1 << 18, connections: 16}

// post sends a body and returns the status and the answer.
func post(t *testing.T, url, kind string, body []byte) (int, map[string]any) {
	t.Helper()
	r, err := http.Post(url, kind, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatalf("%v in %q", err, b)
	}
	return r.StatusCode, all
}

// A served model answers as predict does: rows as JSON, alone, in lists, and by many callers at once; and in KServe's protocol.
func TestServeTable(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	houses(t, in("houses.csv"), 300, 1)
	if _, err := command("train", "--new", "tabular", "--data", in("houses.csv"), "--target", "dear", "--column", "price=ignore", "--epochs", "3", "-o", in("m.onnx")); err != nil {
		t.Fatal(err)
	}
	row := `{"area":150.5,"city":"Rome","sold":"2020-05-11"}`
	if err := os.WriteFile(in("row.jsonl"), []byte(row), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := command("predict", in("m.onnx"), in("row.jsonl"), "--json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	last(t, out, &want)
	s := serving(t, in("m.onnx"), quick)
	code, got := post(t, s.URL+"/predict", "application/json", []byte(row))
	if code != 200 || got["label"] != want["label"] || got["probability"] != want["probability"] {
		t.Errorf("%d %v, predict says %v", code, got, want)
	}
	code, got = post(t, s.URL+"/predict", "application/json", []byte(`{"samples":[`+row+`,{"area":null,"city":"Oslo","sold":null}]}`))
	if list, ok := got["predictions"].([]any); code != 200 || !ok || len(list) != 2 {
		t.Errorf("%d %v: want two predictions", code, got)
	}
	infer := `{"id":"7","inputs":[{"name":"area","shape":[1,1],"datatype":"FP32","data":[150.5]},{"name":"city","shape":[1,1],"datatype":"BYTES","data":["Rome"]},{"name":"sold","shape":[1,1],"datatype":"FP64","data":[18393]}]}`
	code, got = post(t, s.URL+"/v2/models/m/infer", "application/json", []byte(infer))
	b, _ := json.Marshal(got)
	if code != 200 || !strings.Contains(string(b), `"datatype":"FP32","name":"probabilities","shape":[1,2]`) || got["id"] != "7" {
		t.Errorf("%d %s", code, b)
	}
	missing := strings.NewReplacer("150.5", "null", `"Rome"`, "null").Replace(infer)
	code, got = post(t, s.URL+"/v2/models/m/infer", "application/json", []byte(missing))
	_, same := post(t, s.URL+"/predict", "application/json", []byte(`{"area":null,"city":null,"sold":"2020-05-11"}`))
	if a, b := fmt.Sprint(got["outputs"]), fmt.Sprint(same["probability"]); code != 200 || !strings.Contains(a, b[:6]) {
		t.Errorf("missing values: %d %s, want %s", code, a, b)
	}
	together(t, s.URL+"/predict", row, want["probability"].(float64))
	for body, text := range map[string]string{
		"":           "want a JSON object with a value for each input or column",
		`{"area":1}`: "no value for column city (category); null stands for a missing value",
		`{"area":"much","city":"Rome","sold":null}`:                                        `column area: "much" is not a number`,
		`[{"area":1,"city":"Rome","sold":null},{"area":"much","city":"Rome","sold":null}]`: `object 2: table: column area: "much" is not a number`,
		`{"area":[1,2],"city":"Rome","sold":null}`:                                         "column area: [1,2]: want a number or a text",
		`[]`: "no samples",
		`{"a":"` + strings.Repeat("x", 1<<16) + `"}`: "the request is larger than 65536 bytes",
	} {
		code, got := post(t, s.URL+"/predict", "application/json", []byte(body))
		if e, _ := got["error"].(string); code < 400 || code >= 500 || !strings.Contains(e, text) {
			t.Errorf("%.40s: %d %v, want %s", body, code, got, text)
		}
	}
	for body, text := range map[string]string{
		"":              "the request has no body",
		`{"inputs":[]}`: `the request lacks input area`,
		strings.Replace(infer, `"name":"city"`, `"name":"citi"`, 1):                                                       `input "citi": the model has the inputs [`,
		strings.Replace(infer, `"name":"city"`, `"name":"area"`, 1):                                                       `input "area" comes twice`,
		strings.Replace(infer, "150.5", "1e39", 1):                                                                        "input area: 1e39 is out of the range of float32",
		strings.Replace(infer, "FP32", "INT64", 1):                                                                        `input area: datatype "INT64", want FP32`,
		strings.Replace(infer, "[1,1]", "[2,1]", 1):                                                                       "input area: 1 elements for the shape [2 1]",
		strings.Replace(infer, `"city","shape":[1,1]`, `"city","shape":[]`, 1):                                            "city",
		strings.Replace(infer, `[1,1],"datatype":"FP32","data":[150.5]`, `[8589934592,0],"datatype":"FP32","data":[]`, 1): "input area: the shape [8589934592 0] has 8589934592 samples without elements",
		strings.Replace(infer, "150.5", strings.Repeat("[", 64)+"150.5"+strings.Repeat("]", 64), 1):                       "input area: lists are nested more than 64 deep",
		strings.Replace(infer, "}]}", `}],"outputs":[{"name":"z"}]}`, 1):                                                  `no output "z"; the model has the outputs probabilities`,
	} {
		code, got := post(t, s.URL+"/v2/models/m/infer", "application/json", []byte(body))
		if e, _ := got["error"].(string); code != 400 || !strings.Contains(e, text) {
			t.Errorf("%.60s: %d %v, want %s", body, code, got, text)
		}
	}
	binary, err := http.NewRequest(http.MethodPost, s.URL+"/v2/models/m/infer", strings.NewReader(infer+"\x00\x01"))
	if err != nil {
		t.Fatal(err)
	}
	binary.Header.Set("Inference-Header-Content-Length", fmt.Sprint(len(infer)))
	r, err := http.DefaultClient.Do(binary)
	if err != nil {
		t.Fatal(err)
	}
	b, _ = io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != 400 || !strings.Contains(string(b), "the binary tensor extension of the protocol is not supported") {
		t.Errorf("%d %s", r.StatusCode, b)
	}
	if code, got := post(t, s.URL+"/predict", "application/json", []byte("[1,2]")); code != 400 || got["error"] != "object 1: 1 is not an object" {
		t.Error(code, got)
	}
	for path, text := range map[string]string{"/v2/health/ready": `"ready":true`, "/v2/models/m": `"platform":"onnx_graft"`, "/metrics": `graft_requests_total{code="200"}`, "/else": "POST /predict or /v2/models/m/infer"} {
		r, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if !strings.Contains(string(b), text) {
			t.Errorf("%s: %s, want %s", path, b, text)
		}
	}
}

// together asks from many goroutines; each must get its own answer.
func together(t *testing.T, url, row string, want float64) {
	t.Helper()
	var group sync.WaitGroup
	for range 24 {
		group.Go(func() {
			r, err := http.Post(url, "application/json", strings.NewReader(row))
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			var got struct{ Probability float64 }
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil || got.Probability-want > 1e-6 || want-got.Probability > 1e-6 {
				t.Errorf("%v, %v: want %v", got, err, want)
			}
		})
	}
	group.Wait()
}

// An image is prepared as predict prepares the file.
func TestServeImage(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := glyph.WriteFolder(in("digits"), "07", 2, 1); err != nil {
		t.Fatal(err)
	}
	out, err := command("predict", in("digits.onnx"), in("digits"), "--preset", "unit", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	last(t, out, &want)
	b, err := os.ReadFile(fmt.Sprint(want["sample"]))
	if err != nil {
		t.Fatal(err)
	}
	if code, got := post(t, serving(t, in("digits.onnx"), quick).URL+"/predict", "image/png", b); code != 400 || !strings.Contains(fmt.Sprint(got["error"]), "give --preset") {
		t.Errorf("without a preparation: %d %v", code, got)
	}
	unit := quick
	unit.preset = "unit"
	s := serving(t, in("digits.onnx"), unit)
	code, got := post(t, s.URL+"/predict", "image/png", b)
	if code != 200 || got["label"] != want["label"] || got["probability"] != want["probability"] {
		t.Errorf("%d %v, predict says %v", code, got, want)
	}
	if code, got = post(t, s.URL+"/predict", "image/png", []byte("no image")); code != 400 || strings.Contains(fmt.Sprint(got["error"]), "graft-image") {
		t.Errorf("%d %v", code, got)
	}
}
