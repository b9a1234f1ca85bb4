package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A case is written, verified, stripped, filled again and recorded; mistakes are refused before anything is written.
func TestTestcaseCommands(t *testing.T) {
	dir := files(t)
	model := filepath.Join(dir, "digits.onnx")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		args []string
		want string
		err  string
	}{
		{[]string{"testcase", model, "--random", "2", "--dims", "N=3,T=7", "--gradients", "-o", at("case")}, "2 data sets", ""},
		{[]string{"verify", at("case")}, "gradients ok", ""},
		{[]string{"strip", at("case"), "-o", at("small")}, "tensors stripped", ""},
		{[]string{"strip", at("case"), "-o", at("smaller"), "--over", "0", "--json"}, `"tensors":`, ""},
		{[]string{"run", at("small/model.onnx"), "--input", at("x.npy")}, "", "graft unstrip"},
		{[]string{"unstrip", at("small"), "--seed", "3"}, "tensors filled", ""},
		{[]string{"run", at("small/model.onnx"), "--input", at("x.npy")}, "float32[1,10]", ""},
		{[]string{"run", model, "--input", at("x.npy"), "--testcase", at("report")}, "float32[1,10]", ""},
		{[]string{"run", model, "--input", at("x.npy"), "--testcase", at("report")}, "float32[1,10]", ""},
		{[]string{"verify", at("report")}, "1 of 1 cases passed", ""},
		{[]string{"testcase", model, "-o", at("none")}, "", "give --input NAME=FILE, or --random K for random ones"},
		{[]string{"testcase", model, "--random", "1"}, "", "-o DIR"},
		{[]string{"testcase", model, "--random", "1", "--input", at("x.npy"), "-o", at("none")}, "", "--random and --input exclude each other"},
		{[]string{"testcase", model, "--random", "1", "--dims", "N=-2", "-o", at("none")}, "", "--dims N=-2: want a size"},
		{[]string{"testcase", model, "--random", "1", "--strip=-2", "-o", at("none")}, "", "--strip: want a number"},
		{[]string{"testcase", model, "--random", "1", "--out-grad", at("x.npy"), "-o", at("none")}, "", "gradient of output"},
		{[]string{"testcase", model, "--random", "1", "--no-meta", "--meta", "a=1", "-o", at("none")}, "", "UserMeta needs"},
		{[]string{"run", model, "--input", at("x.npy"), "--want", "image", "--testcase", at("none")}, "", "leave --want out"},
		{[]string{"strip", at("missing.onnx")}, "", "no such file"},
		{[]string{"strip", at("pic.png")}, "", "not an ONNX model"},
		{[]string{"strip"}, "", "want one PATH"},
		{[]string{"strip", model, "--over", "-3"}, "", "--over: want a number"},
		{[]string{"unstrip", at("x.npy")}, "", "not an ONNX model"},
	} {
		out, err := command(c.args...)
		if !strings.Contains(out, c.want) {
			t.Errorf("%q printed %q, want %q", c.args, out, c.want)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: got %v, want %q", c.args, err, c.err)
		}
	}
	if _, err := os.Stat(at("none")); err == nil {
		t.Error("a refused command wrote its folder")
	}
	if _, err := os.Stat(at("report/test_data_set_1/output_0.pb")); err != nil {
		t.Error(err)
	}
}
