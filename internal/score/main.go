// Command score counts the results printed by `graft verify --json` and compares them with a recorded score.
//
//	graft verify --json DIR… | go run ./internal/score -recorded .ci/scores [-known docs/conformance.md] [-update]
//
// It prints a line per suite, "suite node: 1180 / 1182", and exits with 1 if a suite has fewer cases, or fewer that
// pass, than recorded, if a case fails for which the list of known failures gives no reason, or if one passes that
// is on the list. A case's suite is the element before the last of its name: node in node/test_abs. Gradients that
// were checked form a separate suite, node-gradients.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	recorded := flag.String("recorded", "", "file of recorded scores: SUITE PASSED TOTAL a line")
	known := flag.String("known", "", "Markdown file whose table gives the reason for each case that fails")
	update := flag.Bool("update", false, "write the file instead of comparing with it")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *recorded, *known, *update); err != nil {
		fmt.Fprintln(os.Stderr, "score:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, recorded, known string, update bool) error {
	got, failures, err := count(in)
	if err != nil {
		return err
	}
	reasons, err := readKnown(known)
	if err != nil {
		return err
	}
	for _, f := range failures {
		fmt.Fprintln(out, "failed:", f)
		if why := reasons[f.name]; why != "" {
			fmt.Fprintln(out, "  known:", why)
		}
	}
	for _, suite := range got.suites() {
		fmt.Fprintf(out, "suite %s: %d / %d\n", suite, got[suite].passed, got[suite].total)
	}
	if recorded == "" {
		return nil
	}
	if update {
		return got.write(recorded)
	}
	want, err := read(recorded)
	if err != nil {
		return err
	}
	return errors.Join(got.compare(want, out), unexpected(failures, reasons, known))
}
