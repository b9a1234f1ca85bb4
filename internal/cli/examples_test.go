package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The commands and recipes that README.md and the help show are ones that graft takes.
func TestExamplesAreTaken(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```(?:json)?\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		if json.Valid([]byte(block[1])) {
			recipe := filepath.Join(t.TempDir(), "recipe.json")
			if err := os.WriteFile(recipe, []byte(block[1]), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := readRecipe(recipe); err != nil {
				t.Errorf("README.md: %v", err)
			}
			continue
		}
		for line := range strings.Lines(block[1]) {
			if command, _, _ := strings.Cut(line, "  "); strings.HasPrefix(command, "graft ") { // what it does follows
				taken(t, command)
			}
		}
	}
	var commands func(c *cobra.Command)
	commands = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "graft ") { // others bring the data or ask the server
				taken(t, line)
			}
		}
		for _, sub := range c.Commands() {
			commands(sub)
		}
	}
	commands(newRoot())
}

// taken reports whether a command line has flags and arguments that its command takes.
func taken(t *testing.T, line string) {
	t.Helper()
	var args []string
	for _, a := range regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`).FindAllString(line, -1) {
		if a == ">" {
			break
		}
		args = append(args, strings.Trim(a, `"'`))
	}
	c, rest, err := newRoot().Find(args[1:])
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateRequiredFlags()
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
}
