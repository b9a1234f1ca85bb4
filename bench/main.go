package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cases are the networks, in the order of the table.
var cases = []string{"mlp", "lenet", "smallcnn", "resnet18", "resnet18_64", "mobilenetv2", "squeezenet1_1", "tinybert", "lstm"}

// options are the command line.
type options struct {
	cases    []string
	threads  []int
	dir      string
	peers    string
	torch    string
	ort      string
	gomlx    string
	base     string
	rounds   int
	reps     int
	budget   time.Duration
	table    string
	lines    string
	profile  string
	only     string
	data     bool
	first    string
	patience time.Duration
	avx2     bool
	check    bool
	child    bool
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	o, err := parse()
	if err != nil {
		return err
	}
	switch {
	case o.first != "" && o.child:
		return first(o)
	case o.first != "":
		return compareFirst(o)
	case o.child:
		r, err := measure(o.cases[0], o.threads[0], o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.cases[0], err)
		}
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	return compare(o)
}

func parse() (options, error) {
	var o options
	var names, threads string
	flag.StringVar(&names, "cases", "all", "comma-separated, or all: "+strings.Join(cases, ","))
	flag.StringVar(&threads, "threads", "1,2", "numbers of threads, comma-separated")
	flag.StringVar(&o.dir, "dir", "", "folder that torch_anchor.py --export wrote")
	flag.StringVar(&o.peers, "peers", "", "folder of torch_anchor.py and ort_anchor.js; empty: graft alone")
	flag.StringVar(&o.torch, "torch", "", "script that measures PyTorch in place of PEERS/torch_anchor.py (other/torch_anchor.py: other networks)")
	flag.StringVar(&o.ort, "ort", "", "folder with node_modules/onnxruntime-node; empty: without ONNX Runtime")
	flag.StringVar(&o.gomlx, "gomlx", "", "GoMLX's benchmark program, built with GOEXPERIMENT=simd; empty: without GoMLX")
	flag.StringVar(&o.base, "base", "", "this command as built at an earlier commit: times both by turns and prints the ratios (make bench-base)")
	flag.IntVar(&o.rounds, "rounds", 3, "fresh processes per case, thread count and framework")
	flag.IntVar(&o.reps, "reps", 200, "at most this many timed steps a process")
	flag.DurationVar(&o.budget, "budget", 3*time.Second, "at most this long for the timed steps of each kind")
	flag.StringVar(&o.table, "table", "", "write a Markdown table to this file")
	flag.StringVar(&o.lines, "json", "", "write the JSON lines to this file as well")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of the timed steps to this file (one case, one thread count)")
	flag.StringVar(&o.only, "only", "", "train or infer: time only that")
	flag.BoolVar(&o.data, "data", false, "this command, not -base, first asks for the tensors of all weights (Param.Data): each run then compares hashes of them")
	flag.StringVar(&o.first, "first", "", "time whole processes that load this model and run it once, instead")
	flag.DurationVar(&o.patience, "patience", 3*time.Minute, "stop a peer's process after this long")
	flag.BoolVar(&o.avx2, "avx2", false, "everybody without AVX-512 (ONNX Runtime cannot do without and is left out)")
	flag.BoolVar(&o.check, "check", false, "only compare ten training losses with PyTorch's (what the command calls itself with first)")
	flag.BoolVar(&o.child, "child", false, "measure in this process (what the command calls itself with)")
	flag.Parse()
	if o.dir == "" && o.first == "" {
		return o, fmt.Errorf("-dir is missing: the folder that torch_anchor.py --export wrote")
	}
	switch {
	case names != "all":
		o.cases = strings.Split(names, ",")
	case o.torch == "":
		o.cases = cases
	default:
		files, err := filepath.Glob(filepath.Join(o.dir, "*.json"))
		if err != nil {
			return o, err
		}
		for _, f := range files {
			o.cases = append(o.cases, strings.TrimSuffix(filepath.Base(f), ".json"))
		}
	}
	for _, t := range strings.Split(threads, ",") {
		n, err := strconv.Atoi(t)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-threads: %q is not a number of threads", t)
		}
		o.threads = append(o.threads, n)
	}
	return o, nil
}
