package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// A recipe of train is a YAML file of its flags: "epochs: 20", and "model: FILE" for the argument. Flags of the command
// line take precedence.

// settingsFile is the recipe of a run, in its folder.
const settingsFile = "recipe.yaml"

// notSettings are flags that recipes do not contain, and those that a resumed run may change.
var (
	notSettings = []string{"recipe", "dry-run", "help", "json", "memory"}
	momentary   = []string{"resume", "force", "workers", "dir", "output", "keep"}
)

// notYAML matches the parts of package yaml's errors that are not the line and its content.
var notYAML = regexp.MustCompile(`^yaml: (unmarshal errors:\s+)?| into map\[string\]interface \{\}|cannot unmarshal !!\w+ `)

// mostSettings is the length of the longest recipe in bytes: YAML takes some hundred times its text.
const mostSettings = 1 << 18

// readSettings reads a recipe.
func readSettings(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > mostSettings {
		return nil, fmt.Errorf("%s has %d bytes, a recipe at most %d", path, info.Size(), mostSettings)
	}
	return disk.ReadFile(path)
}

// applyRecipe sets the flags of a recipe that the command line does not set, and returns the recipe's model.
func applyRecipe(cmd *cobra.Command, path string) (model string, err error) {
	b, err := readSettings(path)
	if err != nil {
		return "", fmt.Errorf("--recipe: %w", plainError(err))
	}
	var all map[string]any
	if err := yaml.Unmarshal(b, &all); err != nil {
		return "", fmt.Errorf("--recipe %s: not a recipe, which has lines such as \"epochs: 20\": %s", path, notYAML.ReplaceAllString(err.Error(), ""))
	}
	if len(all) == 0 {
		return "", fmt.Errorf("--recipe %s: it has no settings, which are lines such as \"epochs: 20\"", path)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name]
		if name == "model" {
			model = fmt.Sprint(value)
			continue
		}
		f := cmd.Flags().Lookup(name)
		if f == nil || slices.Contains(notSettings, name) {
			return "", fmt.Errorf("--recipe %s: %q is not a setting of train%s", path, name, meantSetting(cmd, name))
		}
		if f.Changed {
			continue
		}
		list, many := value.([]any)
		if !many {
			list = []any{value}
		} else if _, takes := f.Value.(pflag.SliceValue); !takes {
			return "", fmt.Errorf("--recipe %s: %s: want one value, got %d", path, name, len(list))
		}
		for _, v := range list {
			if v == nil {
				continue
			}
			if err := cmd.Flags().Set(name, fmt.Sprint(v)); err != nil {
				return "", fmt.Errorf("--recipe %s: %s: %v is not what it takes: %s", path, name, v, f.Usage)
			}
		}
	}
	return model, nil
}

// meantSetting returns "; did you mean epochs?" for a key that is similar to a flag.
func meantSetting(cmd *cobra.Command, name string) string {
	if best := nearFlag(cmd, name); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return ""
}

// values of a flag, one or a list.
func values(f *pflag.Flag) any {
	if s, ok := f.Value.(pflag.SliceValue); ok {
		if list := s.GetSlice(); len(list) != 0 {
			return list
		}
		return []string{}
	}
	return f.Value.String()
}

// resolve stores the final settings in the flags: rate, epochs, batch, folder.
func (t *training) resolve(f *pflag.FlagSet) {
	set := func(name, value string) {
		if x := f.Lookup(name); x != nil && !x.Changed {
			_ = x.Value.Set(value) // formatted from a value of the flag's type
			x.Changed = true
		}
	}
	set("dir", t.config.Dir)
	set("policy", t.policy)
	if t.policy == "manual" {
		set("epochs", fmt.Sprint(t.config.Epochs))
		set("batch", fmt.Sprint(t.config.Batch))
		set("optimizer", t.optimizer)
		set("schedule", t.schedule)
		if r := optim.BaseRate(t.config.Rule); r > 0 {
			set("lr", fmt.Sprint(r))
		}
	}
}

// recipeText returns all settings as a recipe; defaults and settings chosen by the policy are comments.
func (t *training) recipeText(f *pflag.FlagSet, model string) ([]byte, error) {
	var b bytes.Buffer
	line := func(key string, v any) error {
		text, err := yaml.Marshal(map[string]any{key: v})
		b.Write(text)
		return err
	}
	if model != "" {
		if err := line("model", model); err != nil {
			return nil, err
		}
	}
	var failed error
	f.VisitAll(func(x *pflag.Flag) {
		if slices.Contains(notSettings, x.Name) || x.Hidden {
			return
		}
		if !x.Changed {
			fmt.Fprintf(&b, "# %s: %s", x.Name, x.DefValue)
			fmt.Fprintf(&b, "%s# %s\n", strings.Repeat(" ", max(1, 24-len(x.Name)-len(x.DefValue))), x.Usage)
			return
		}
		v := values(x)
		if text, ok := v.(string); ok {
			var typed any
			if yaml.Unmarshal([]byte(text), &typed) == nil && fmt.Sprint(typed) == text && x.Value.Type() != "string" {
				v = typed
			}
		}
		failed = errors.Join(failed, line(x.Name, v))
	})
	return b.Bytes(), failed
}

// keepSettings stores the recipe of a run in its folder. For a resumed run, it prints the settings that changed.
func (t *training) keepSettings(f *pflag.FlagSet, model string) error {
	if f == nil {
		return nil
	}
	now, err := t.recipeText(f, model)
	if err != nil {
		return err
	}
	path := filepath.Join(t.config.Dir, settingsFile)
	if t.config.Resume {
		then, err := readSettings(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			t.earlier = then
			t.resumed, _ = os.Stat(filepath.Join(t.config.Dir, "last.state"))
			if diff := differences(then, now); diff != "" {
				t.notes = append(t.notes, "the resumed run has other settings: "+diff)
			}
		}
	}
	if err := disk.MkdirAll(t.config.Dir); err != nil {
		return fmt.Errorf("cannot create the folder for checkpoints: %w", plainError(err))
	}
	if t.free, err = disk.Occupy(t.config.Dir); err != nil {
		return fmt.Errorf("%w: --dir chooses another folder", err)
	}
	return onnxio.WriteFile(path, func(w io.Writer) error { _, err := w.Write(now); return err })
}

// takeBack restores the earlier settings of a run that could not be resumed because of err.
func (t *training) takeBack(err error) error {
	if err == nil || t.earlier == nil {
		return nil
	}
	// A checkpoint is another file than the one before: times alone could be equal if the clock was set back.
	state, stateErr := os.Stat(filepath.Join(t.config.Dir, "last.state"))
	if stateErr != nil || t.resumed == nil || !os.SameFile(state, t.resumed) || !state.ModTime().Equal(t.resumed.ModTime()) {
		return nil
	}
	return onnxio.WriteFile(filepath.Join(t.config.Dir, settingsFile), func(w io.Writer) error { _, err := w.Write(t.earlier); return err })
}

// differences lists settings that differ: "lr 0.001 → 0.01, epochs 1 → 2".
func differences(then, now []byte) string {
	var a, b map[string]any
	if yaml.Unmarshal(then, &a) != nil || yaml.Unmarshal(now, &b) != nil {
		return ""
	}
	word := func(m map[string]any, key string) string {
		v, ok := m[key]
		if !ok {
			return "default"
		}
		return fmt.Sprint(v)
	}
	keys := map[string]any{} // the stored recipe may be empty
	maps.Copy(keys, a)
	maps.Copy(keys, b)
	var list []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if x, y := word(a, key), word(b, key); x != y && !slices.Contains(momentary, key) {
			list = append(list, fmt.Sprintf("%s %s → %s", key, x, y))
		}
	}
	return strings.Join(list, ", ")
}
