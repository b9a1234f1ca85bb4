package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// readKnown reads the known failures, case to reason, from the rows of the Markdown tables in a file: the first cell
// is the case, the second the reason. An empty path knows of none.
func readKnown(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for n, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 4 || cells[0] != "" {
			continue // no row
		}
		name, why := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		if name == "case" || strings.Trim(name, "-: ") == "" {
			continue // heading
		}
		if why == "" || known[name] != "" {
			return nil, fmt.Errorf("%s:%d: case %q has no reason or comes twice", path, n+1, name)
		}
		known[name] = why
	}
	return known, nil
}

// byProcessor begins the reason of a case that passes on some processors and fails on others.
const byProcessor = "depends on the processor: "

// unexpected is an error if a case failed without a known reason, or did not fail that is known to. Without a list
// everything is expected.
func unexpected(failures []failure, known map[string]string, path string) error {
	if path == "" {
		return nil
	}
	fixed := maps.Clone(known)
	maps.DeleteFunc(fixed, func(_, why string) bool { return strings.HasPrefix(why, byProcessor) })
	var news []string
	for _, f := range failures {
		if known[f.name] == "" {
			news = append(news, f.name)
		}
		delete(fixed, f.name)
	}
	if len(news) > 0 {
		return fmt.Errorf("%s gives no reason why these fail: %s", path, strings.Join(news, ", "))
	}
	if len(fixed) > 0 {
		return fmt.Errorf("%s says that these fail, but they pass: %s", path, strings.Join(slices.Sorted(maps.Keys(fixed)), ", "))
	}
	return nil
}
