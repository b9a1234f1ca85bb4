package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFound checks what is reported about data matched by patterns, named differently from the model's
// inputs, or unreadable.
func TestFound(t *testing.T) {
	dir := spoiled(t)
	expect(t, dir, [][3]string{
		{"predict digits.onnx letters/A/*.png --csv", "A", ""},
		{"predict digits.onnx letters/C/*.png", "", "no file matches "},
		{"predict digits.onnx letters/[.png", "", "not a pattern of file names"},
		{"predict digits.onnx rare.csv", "", "rare.csv is a table, the model takes images (input image float32[N,1,28,28])"},
		{"predict digits.onnx blind.npz --json", `"sample":"1"`, ""},
		{"run digits.onnx --input blind.npz", "float32[4,10]", ""},
		{"run digits.onnx --input letters/", "", "is a folder, want a file; graft predict answers for all images of a folder"},
		{"eval digits.onnx --data bad/ --skip-bad 2", "", "--skip-bad 2: want a fraction from 0 to 1"},
		{"eval digits.onnx --data bad/ --skip-bad 0.3", "", "2 of 2 images are corrupt, --skip-bad 1 leaves them out"},
		{"serve cnn.onnx --data missing/", "", "no such file or folder: "},
		{"serve two.onnx --data letters/", "", "the model does not take images: its inputs are ["},
	})
	if err := os.WriteFile(filepath.Join(dir, "letters/A/odd.png"), []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := in(dir, "train cnn.onnx --data letters/ --skip-bad 0.1 --epochs 1 --policy manual -o ab.onnx"); err != nil {
		t.Fatal(out, err)
	}
	expect(t, dir, [][3]string{
		{"eval ab.onnx --data letters/", "", "1 of 11 images are corrupt, --skip-bad 0.1 leaves them out"},
		{"eval ab.onnx --data letters/ --skip-bad 0.1", "10 samples", ""},
	})
}

// A path that is served refuses other methods with 405, others are 404; a request without inputs is told which there are.
func TestRefusedRequests(t *testing.T) {
	dir := spoiled(t)
	s := serving(t, filepath.Join(dir, "two.onnx"), quick)
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/predict", "", http.StatusMethodNotAllowed, "GET /predict: want POST"},
		{"POST", "/metrics", "", http.StatusMethodNotAllowed, "want GET"},
		{"DELETE", "/v2/models/two", "", http.StatusMethodNotAllowed, "want GET"},
		{"GET", "/v2/models/two/infer", "", http.StatusMethodNotAllowed, "want POST"},
		{"GET", "/v2/models/one", "", http.StatusNotFound, "the model is two"},
		{"POST", "/v2/models/two/infer", "", http.StatusBadRequest, "with the inputs [x float32["},
		{"POST", "/v2/models/two/infer", "{}", http.StatusBadRequest, `the request lacks input x; the model has the inputs [x float32[`},
		{"POST", "/v2/models/two/infer", `{"inputs":[{"name":"y","shape":[1],"datatype":"FP32","data":[1]}]}`, http.StatusBadRequest, `the model has the inputs [x float32[`},
		{"GET", "/v2/models/two/versions/1", "", http.StatusOK, `"versions":["1"]`},
		{"GET", "/v2/models/two/versions/1/ready", "", http.StatusOK, `"ready":true`},
		{"GET", "/v2/models/two/versions/2", "", http.StatusNotFound, "the model is two"},
		{"POST", "/v2/models/two/versions/1/infer", `{"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2,3]}]}`, http.StatusOK, `"model_name":"two"`},
		{"POST", "/v2/models/two/infer", `[1]`, http.StatusBadRequest, "array is of the wrong kind; want {"},
		{"POST", "/v2/models/two/infer", `{"inputs":{}}`, http.StatusBadRequest, "with the inputs [x float32["},
	} {
		q, err := http.NewRequest(c.method, s.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		var b [2000]byte
		n, _ := r.Body.Read(b[:])
		r.Body.Close()
		if text := strings.ReplaceAll(string(b[:n]), `\"`, `"`); r.StatusCode != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, r.StatusCode, text, c.code, c.want)
		}
	}
}

// A model that does not say how images are prepared is served where --data has some to measure that on, and refuses images otherwise.
func TestServeMeasured(t *testing.T) {
	dir := spoiled(t)
	files, err := filepath.Glob(filepath.Join(dir, "letters/A/*.png"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	img, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	measured := quick
	measured.data = filepath.Join(dir, "letters")
	for code, q := range map[int]service{http.StatusOK: measured, http.StatusBadRequest: quick} {
		s := serving(t, filepath.Join(dir, "cnn.onnx"), q)
		got, answer := post(t, s.URL+"/predict", "application/octet-stream", img) // its bytes say that it is an image
		text, _ := answer["error"].(string)
		if got != code || code != http.StatusOK && !strings.Contains(text, "give --preset, or --data with images to estimate it from") {
			t.Errorf("%d %v, want %d", got, answer, code)
		}
	}
}
