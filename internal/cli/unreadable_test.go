package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/internal/phrase"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// unreadable is a source of samples.
type unreadable struct {
	name     string
	prepare  func(t *testing.T) // writes its files and m.onnx
	files    []string           // of which one becomes unreadable
	listed   bool               // files are found by listing a folder: without one, there is a sample less
	commands []string
}

// onData are the commands that read samples for a model.
func onData(data, flags string) []string {
	return []string{
		"train m.onnx --data " + data + " --val 0.3 --epochs 1 --batch 4 --lr 0.01 --force -o o.onnx " + flags,
		"eval m.onnx --data " + data + " " + flags,
		"predict m.onnx " + data + " " + flags,
		"lr-find m.onnx --data " + data + " --steps 8 " + flags,
		"prune m.onnx --data " + data + " --criterion taylor --target channels=0.5 -o o.onnx " + flags,
	}
}

// convnet writes a classifier of images.
func convnet(t *testing.T, input string, classes int) {
	t.Helper()
	g := nn.New("images")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Conv{Out: 4, Kernel: []int{3}, Same: true}, layers.ReLU{}, layers.Flatten{}, layers.Linear{Out: classes}}, e.Input("x", input)))
	}); err != nil {
		t.Fatal(err)
	}
	save(t, "m.onnx", g)
}

func save(t *testing.T, path string, g *nn.Graph) {
	t.Helper()
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// many calls f with the numbers of twelve samples.
func many(f func(i int, class string)) {
	for i := range 12 {
		f(i, string(rune('a'+i%2)))
	}
}

func shade(i int) func(x, y int) color.Color {
	return func(x, y int) color.Color { return color.RGBA{uint8(20 * i), uint8(9 * x), uint8(100 * (i % 2)), 255} }
}

var unreadables = []unreadable{
	{"folders", func(t *testing.T) {
		convnet(t, "float32[N,3,8,6]", 2)
		many(func(i int, class string) { paint(t, fmt.Sprintf("d/%s/%d.png", class, i), shade(i)) })
	}, []string{"d/b/3.png"}, true, onData("d", "--preset unit")},
	{"divided folders", func(t *testing.T) {
		convnet(t, "float32[N,3,8,6]", 2)
		many(func(i int, class string) {
			paint(t, fmt.Sprintf("d/train/%s/%d.png", class, i), shade(i))
			paint(t, fmt.Sprintf("d/val/%s/v%d.png", class, i), shade(i))
		})
	}, []string{"d/val/b/v3.png"}, true, onData("d", "--preset unit")},
	{"masks", func(t *testing.T) {
		pixelwise(t, "m.onnx", 2)
		many(func(i int, class string) {
			paint(t, fmt.Sprintf("d/images/%d.png", i), shade(i))
			paint(t, fmt.Sprintf("d/masks/%d.png", i), func(x, y int) color.Color { return color.Gray{uint8((x + i) % 2)} })
		})
	}, []string{"d/images/3.png", "d/masks/3.png"}, false, onPixels()},
	{"pairs of images", func(t *testing.T) {
		pixelwise(t, "m.onnx", 3)
		many(func(i int, class string) {
			paint(t, fmt.Sprintf("d/images/%d.png", i), shade(i))
			paint(t, fmt.Sprintf("d/targets/%d.png", i), shade(12-i))
		})
	}, []string{"d/images/3.png", "d/targets/3.png"}, false, onPixels()},
	{"tags", func(t *testing.T) {
		list := "file,tags\n"
		many(func(i int, class string) {
			paint(t, fmt.Sprintf("d/%d.png", i), shade(i))
			list += fmt.Sprintf("%d.png,%s c\n", i, class)
		})
		put(t, "d/tags.csv", []byte(list))
		convnet(t, "float32[N,3,8,6]", 3)
	}, []string{"d/3.png", "d/tags.csv"}, false, slices.Delete(onData("d/tags.csv", "--preset unit"), 2, 3)},
	{"a table", func(t *testing.T) {
		rare(t, "d.csv")
		classifier(t, "m.onnx", 3, 2)
	}, []string{"d.csv"}, false, onData("d.csv", "")},
	{"a table of texts", func(t *testing.T) {
		if err := phrase.Reviews("d", "tokenizer.json", 30, 1); err != nil {
			t.Fatal(err)
		}
		masked(t, "m.onnx", "input_ids", "attention_mask", phrase.ReviewTokens())
	}, []string{"d.csv", "tokenizer.json"}, false, onData("d.csv", "--text sentence --tokenizer tokenizer.json")[:4]},
	{"lines of texts", func(t *testing.T) {
		if err := phrase.Reviews("d", "tokenizer.json", 30, 1); err != nil {
			t.Fatal(err)
		}
		masked(t, "m.onnx", "input_ids", "attention_mask", phrase.ReviewTokens())
	}, []string{"d.jsonl", "tokenizer.json"}, false, onData("d.jsonl", "--text sentence --tokenizer tokenizer.json")[:4]},
	{"words", func(t *testing.T) {
		if err := phrase.Sentences("d", "tokenizer.json", 30, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := command(strings.Fields("new transformer --input 32 --vocabulary 40 --mask --per-token --width 8 --depth 1 --classes 3 -o m.onnx")...); err != nil {
			t.Fatal(err)
		}
	}, []string{"d.conll", "tokenizer.json"}, false, onData("d.conll", "--text words --tokenizer tokenizer.json")[:4]},
	{"lines of numbers", func(t *testing.T) {
		lines := ""
		many(func(i int, class string) { lines += fmt.Sprintf("{\"x\":[%d,2,3],\"y\":%d}\n", i, i%2) })
		put(t, "d.jsonl", []byte(lines))
		classifier(t, "m.onnx", 3, 2)
	}, []string{"d.jsonl"}, false, onData("d.jsonl", "")},
	{"arrays", func(t *testing.T) {
		y := make([]int64, 12)
		many(func(i int, class string) { y[i] = int64(i % 2) })
		archive(t, "d.npz", map[string]*tensor.Dense{"x": dtype.New(dtype.Float32, 12, 3), "y": tensor.New(tensor.WithShape(12), tensor.WithBacking(y))})
		classifier(t, "m.onnx", 3, 2)
	}, []string{"d.npz"}, false, onData("d.npz", "")},
	{"IDX", func(t *testing.T) {
		convnet(t, "float32[N,1,8,6]", 2)
		images, labels := binary.BigEndian.AppendUint32(nil, 0x0803), binary.BigEndian.AppendUint32(nil, 0x0801)
		for _, n := range []uint32{12, 8, 6} {
			images = binary.BigEndian.AppendUint32(images, n)
		}
		labels = binary.BigEndian.AppendUint32(labels, 12)
		many(func(i int, class string) {
			images, labels = append(images, bytes.Repeat([]byte{byte(20 * i)}, 48)...), append(labels, byte(i%2))
		})
		put(t, "d-images-idx3-ubyte", images)
		put(t, "d-labels-idx1-ubyte", labels)
	}, []string{"d-images-idx3-ubyte", "d-labels-idx1-ubyte"}, false, onData("d-images-idx3-ubyte,d-labels-idx1-ubyte", "--preset unit")},
	{"CIFAR", func(t *testing.T) {
		convnet(t, "float32[N,3,32,32]", 10)
		var all []byte
		many(func(i int, class string) {
			all = append(append(all, byte(i%10)), bytes.Repeat([]byte{byte(20 * i)}, 3072)...)
		})
		put(t, "d.bin", all)
	}, []string{"d.bin"}, false, onData("d.bin", "--preset unit")},
	{"COCO", func(t *testing.T) {
		redOrGreen(t, "m.onnx")
		var images, boxes []map[string]any
		many(func(i int, class string) {
			paint(t, fmt.Sprintf("d/%d.png", i), shade(i))
			images = append(images, map[string]any{"id": i, "file_name": fmt.Sprintf("%d.png", i), "width": 6, "height": 8})
			boxes = append(boxes, map[string]any{"id": i, "image_id": i, "category_id": 1 + i%2, "bbox": []int{1, 1, 3, 3}})
		})
		categories := []map[string]any{{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}}
		b, err := json.Marshal(map[string]any{"images": images, "annotations": boxes, "categories": categories})
		if err != nil {
			t.Fatal(err)
		}
		put(t, "d/d.json", b)
	}, []string{"d/3.png", "d/d.json"}, false, []string{"eval m.onnx --data d/d.json --preset unit"}},
	{"an array of run", func(t *testing.T) {
		classifier(t, "m.onnx", 3, 2)
		if err := onnxio.WriteFile("x.npy", func(w io.Writer) error { return npy.Write(w, dtype.New(dtype.Float32, 1, 3)) }); err != nil {
			t.Fatal(err)
		}
	}, []string{"x.npy"}, false, []string{"run m.onnx --input x.npy"}},
	{"an archive of run", func(t *testing.T) {
		classifier(t, "m.onnx", 3, 2)
		archive(t, "x.npz", map[string]*tensor.Dense{"x": dtype.New(dtype.Float32, 1, 3)})
	}, []string{"x.npz"}, false, []string{"run m.onnx --input x.npz"}},
	{"a recipe", func(t *testing.T) {
		rare(t, "d.csv")
		classifier(t, "m.onnx", 3, 2)
		put(t, "r.yaml", []byte("data: d.csv\nepochs: 1\nlr: 0.01\nforce: true\noutput: o.onnx\n"))
	}, []string{"r.yaml", "d.csv"}, false, []string{"train m.onnx --recipe r.yaml"}},
	{"external data", func(t *testing.T) {
		rare(t, "d.csv")
		classifier(t, "w.onnx", 3, 2)
		g, err := onnxio.Load("w.onnx")
		if err != nil {
			t.Fatal(err)
		}
		if err := (onnxio.Saver{ExternalOver: 1}).Save("m.onnx", g); err != nil {
			t.Fatal(err)
		}
	}, []string{"m.onnx", "m.onnx.data"}, false, onData("d.csv", "")},
	{"test cases", func(t *testing.T) {
		classifier(t, "m.onnx", 3, 2)
		for _, name := range []string{"one", "two"} {
			if _, err := command("testcase", "m.onnx", "--random", "1", "-o", "cases/"+name); err != nil {
				t.Fatal(err)
			}
		}
	}, []string{"cases/one/model.onnx"}, false, []string{"verify cases"}},
	{"tensors of test cases", func(t *testing.T) {
		classifier(t, "m.onnx", 3, 2)
		if _, err := command("testcase", "m.onnx", "--random", "1", "-o", "case"); err != nil {
			t.Fatal(err)
		}
	}, []string{"case/test_data_set_0/input_0.pb", "case/test_data_set_0/output_0.pb"}, true, []string{"verify case"}},
}

// onPixels are the commands for images with targets that are images.
func onPixels() []string {
	return slices.Delete(onData("d", "--preset unit")[:4], 2, 3)
}

// cutOff shortens a file to half, or by a part of the last line.
func cutOff(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n := len(b)/2 + 1
	if mark := map[string]string{".csv": ",", ".conll": " ", ".yaml": ":"}[filepath.Ext(path)]; mark != "" {
		n = bytes.LastIndex(b, []byte(mark))
	}
	return os.Truncate(path, int64(n))
}

// spoilings are the ways in which a file becomes unreadable.
var spoilings = map[string]func(path string) error{
	"missing":           os.Remove,
	"a folder":          func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
	"empty":             func(path string) error { return os.Truncate(path, 0) },
	"cut off":           cutOff,
	"a link to nothing": func(path string) error { return errors.Join(os.Remove(path), os.Symlink("nowhere", path)) },
	"not permitted":     func(path string) error { return os.Chmod(path, 0) },
}

// TestUnreadable: a file of samples that is missing, empty, cut off, of another kind or not to be opened is an error of every command that reads it, or, of an image, one
// that predict skips; either names the file. Unless GRAFT_FAULTS is "all", each fault is tried with one or two of the commands.
func TestUnreadable(t *testing.T) {
	for _, u := range unreadables {
		t.Run(u.name, func(t *testing.T) {
			base := t.TempDir()
			t.Chdir(base)
			u.prepare(t)
			for _, line := range u.commands {
				if out, err := bounded(t, line); err != nil {
					t.Fatalf("%s: %v\n%s", line, err, out)
				}
			}
			tried := 0
			for _, file := range u.files {
				for how, spoil := range sorted(spoilings) {
					if u.listed && (how == "missing" || how == "a folder") || how == "not permitted" && os.Getuid() == 0 {
						continue
					}
					dir := t.TempDir()
					t.Chdir(dir)
					if err := errors.Join(os.CopyFS(dir, os.DirFS(base)), spoil(file)); err != nil {
						t.Fatal(err)
					}
					for _, line := range u.commands {
						if tried++; os.Getenv("GRAFT_FAULTS") != "all" && len(u.commands) > 1 && tried%4 != 1 {
							continue
						}
						out, err := bounded(t, line)
						skipped := strings.HasPrefix(line, "predict") && strings.Contains(out, "skipped: ")
						if said := fmt.Sprint(out, err); err == nil && !skipped || !strings.Contains(said, filepath.Base(file)) {
							t.Errorf("%s, %s: %s: %v\n%s", file, how, line, err, out)
						}
					}
				}
			}
		})
	}
}

// bounded runs a command line, which must end, and returns what it printed.
func bounded(t *testing.T, line string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(strings.Fields(line))
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil {
		t.Fatalf("%s: %v", line, ctx.Err())
	}
	return out.String(), err
}
