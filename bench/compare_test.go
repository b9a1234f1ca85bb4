package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestQuietest checks that of three rounds the two with the least load from other processes are used.
func TestQuietest(t *testing.T) {
	r := quietest([]result{{Train: 90, Others: 1}, {Train: 10, Others: 0}, {Train: 12, Others: 0.1}})
	if r.Train != 11 {
		t.Errorf("train %v, want 11", r.Train)
	}
}

func TestLine(t *testing.T) {
	r, err := line(exec.Command("sh", "-c", `echo noise; echo '{"case":"mlp","ms":3}'`), time.Minute)
	if err != nil || r.Case != "mlp" || r.Train != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	for script, want := range map[string]string{
		"echo no JSON":         "no JSON",
		"echo why >&2; exit 3": "why",
		"sleep 60":             "stopped after",
	} {
		start := time.Now()
		if _, err := line(exec.Command("sh", "-c", script), 300*time.Millisecond); err == nil {
			t.Errorf("%q is no failure", script)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", script, err, want)
		}
		if time.Since(start) > 30*time.Second {
			t.Errorf("%q was not stopped", script)
		}
	}
}

// A ratio is graft's figure over the better of PyTorch's layouts; what is missing does not count.
func TestTable(t *testing.T) {
	c, d := cell{"mlp", 1}, cell{"lenet", 1}
	var w bytes.Buffer
	table(&w, options{cases: []string{"mlp", "lenet"}, threads: []int{1}}, map[string]map[cell]result{
		"graft":               {c: {Case: "mlp", Train: 2, Infer: 1, Peak: 30, Base: 20}, d: {Case: "lenet", Train: 4, Infer: 1}},
		"torch":               {c: {Case: "mlp", Train: 8, Infer: 4, Peak: 250, Base: 240}, d: {Case: "lenet", Train: 4, Infer: 1}},
		"torch channels-last": {c: {Case: "mlp", Train: 4, Infer: 2, Peak: 260, Base: 240}},
	})
	for _, want := range []string{
		"| mlp | 1 | 2.00 | 4.00 | 0.50 | – | – | 1.00 | 2.00 | 0.50 | 0.00 | – | 30 (10) | 250 (10) | 1.00 |",
		"| **geometric mean** | 1 | | | **0.71** |",
	} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("no line %q in\n%s", want, w.String())
		}
	}
}

// TestEquip checks that no competitor uses AVX-512 where the processor lacks it, and that the caller's
// environment is kept.
func TestEquip(t *testing.T) {
	t.Setenv("ONEDNN_MAX_CPU_ISA", "SSE41")
	env := options{avx2: true}.equip(exec.Command("true")).Env
	all := strings.Join(env, "\n")
	for _, want := range []string{"GODEBUG=cpu.avx512f=off", "ONEDNN_MAX_CPU_ISA=SSE41", "OPENBLAS_CORETYPE=Haswell"} {
		if !strings.Contains(all, want) {
			t.Errorf("the environment lacks %s", want)
		}
	}
	if strings.Contains(all, "ONEDNN_MAX_CPU_ISA=AVX2") {
		t.Error("what the caller chose is overridden")
	}
}
