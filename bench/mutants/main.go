package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// report is what a run writes as JSON.
type report struct {
	Package   string  `json:"package"`
	Seed      uint64  `json:"seed"`
	Executed  int     `json:"executed"` // expressions that the sample was drawn from
	Sample    int     `json:"sample"`
	Noticed   int     `json:"noticed"`
	Share     float64 `json:"share"`
	Survivors []site  `json:"survivors"`
	Caught    []site  `json:"caught"`
}

// options are what a run may be told.
type options struct {
	n       int
	seed    uint64
	workers int
	own     bool
	drop    bool
	by      string
	again   string
	files   string
	skip    string
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 200, "size of the sample")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the sample")
	out := flag.String("json", "", "file for the report")
	flag.IntVar(&o.workers, "workers", 2, "test binaries that run at the same time")
	flag.BoolVar(&o.own, "own", false, "run the package's own tests only")
	flag.BoolVar(&o.drop, "drop", false, "leave out statements, branches and operands of conditions, too")
	flag.StringVar(&o.by, "by", "", "regular expression: of the packages that depend on it, run the tests of those that match")
	flag.StringVar(&o.again, "again", "", "file of an earlier report: only what survived there is changed")
	flag.StringVar(&o.files, "files", "*", "patterns of the files to change, separated by commas: only what stands in those that match")
	flag.StringVar(&o.skip, "skip", "^$", "regular expression: tests that are not run")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: mutants [flags] package")
		os.Exit(2)
	}
	r, err := measure(flag.Arg(0), o)
	if err == nil {
		err = r.write(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// measure draws a sample of pkg's expressions and runs the tests on each change.
func measure(pkg string, o options) (*report, error) {
	chosen, err := regexp.Compile(o.by)
	if err != nil {
		return nil, err
	}
	skipped, err := regexp.Compile(o.skip)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p, err := load(pkg)
	if err != nil {
		return nil, err
	}
	if err := p.cover(filepath.Join(dir, "cover"), o.skip); err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(p.sites(o.drop), func(s *site) bool {
		return !slices.ContainsFunc(strings.Split(o.files, ","), func(pattern string) bool {
			match, err := filepath.Match(pattern, s.File)
			return err == nil && match
		})
	})
	if o.again != "" {
		if all, err = survivors(all, o.again); err != nil {
			return nil, err
		}
	}
	r := rand.New(rand.NewPCG(o.seed, 1))
	r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	overlay := filepath.Join(dir, "overlay.json")
	sample, err := p.compile(all, o.n, dir, overlay)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "%s: %d of %d executed expressions, seed %d\n", p.ImportPath, len(sample), len(all), o.seed)
	tests := []string{p.ImportPath}
	if !o.own {
		dependents, err := p.dependents()
		if err != nil {
			return nil, err
		}
		tests = append(tests, slices.DeleteFunc(dependents, func(d string) bool { return !chosen.MatchString(d) })...)
	}
	s := session{dir: dir, overlay: overlay, workers: o.workers, skip: skipped}
	if err := s.run(tests, sample); err != nil {
		return nil, err
	}
	rep := &report{Package: p.ImportPath, Seed: o.seed, Executed: len(all), Sample: len(sample)}
	for _, m := range sample {
		if m.NoticedBy == "" {
			rep.Survivors = append(rep.Survivors, *m)
		} else {
			rep.Caught = append(rep.Caught, *m)
			rep.Noticed++
		}
	}
	if rep.Sample == 0 {
		return nil, errors.New("the tests execute no expression that could be changed")
	}
	rep.Share = float64(rep.Noticed) / float64(rep.Sample)
	return rep, nil
}

// survivors keeps the sites that survived in an earlier report; their lines may have changed since.
func survivors(all []*site, file string) ([]*site, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return slices.DeleteFunc(all, func(s *site) bool {
		return !slices.ContainsFunc(r.Survivors, func(x site) bool {
			return x.File == s.File && x.Func == s.Func && x.Source == s.Source && x.Change == s.Change
		})
	}), nil
}

func (r *report) write(file string) error {
	by := map[string]int{}
	for _, m := range r.Caught {
		by[m.NoticedBy]++
	}
	for name, k := range by {
		fmt.Printf("%4d by %s\n", k, name)
	}
	fmt.Printf("%s: %d of %d noticed, %.1f %%, seed %d\n", r.Package, r.Noticed, r.Sample, 100*r.Share, r.Seed)
	for _, m := range r.Survivors {
		fmt.Println(&m)
	}
	if file == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o666)
}
