package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// plainError rewrites an error in terms of the command line: "no such file or folder: X" instead of "lstat X: …", and flags instead
// of the fields of Go structs.
func plainError(err error) error {
	if err == nil || errors.Is(err, errSilent) {
		return err
	}
	text := err.Error()
	var p *fs.PathError
	if errors.As(err, &p) {
		switch {
		case errors.Is(p.Err, fs.ErrNotExist):
			text = strings.Replace(text, p.Error(), "no such file or folder: "+p.Path, 1)
			text = strings.Replace(text, p.Path+": no such file", "no such file", 1) // the path follows at the end
		case errors.Is(p.Err, fs.ErrPermission):
			text = strings.Replace(text, p.Error(), "no permission for "+p.Path, 1)
		}
	}
	text = notNumbers.ReplaceAllStringFunc(fieldWords.Replace(text), func(s string) string {
		return wanted[notNumbers.FindStringSubmatch(s)[1]]
	})
	text = broken.ReplaceAllString(text, "")
	if already := (plain{}); byIndex.MatchString(text) && !errors.As(err, &already) {
		text = sampleIndex.ReplaceAllStringFunc(text, func(s string) string {
			i, _ := strconv.Atoi(sampleIndex.FindStringSubmatch(s)[1])
			return "sample " + ordinal(i)
		})
	}
	text = ofRules.ReplaceAllStringFunc(text, func(s string) string { return "--optimizer " + strings.ToLower(strings.TrimPrefix(s, "optim.")) })
	text = noDuration.ReplaceAllString(text, "want a length of time, such as 5ms or 2s")
	text = folderRead.ReplaceAllString(text, "$1 is a folder, want a file")
	text = wholeJSON.ReplaceAllString(text, "$1 is of the wrong kind")
	text = notJSON.ReplaceAllString(text, `"$2" is a $1, which is not allowed there`)
	if text == err.Error() {
		return err
	}
	return plain{text, err}
}

// fieldWords replaces the fields of configuration structs by the flags that set them.
var fieldWords = strings.NewReplacer(
	"try a lower rate or ClipNorm, and check the data", "try a lower --lr or --clip-norm, and check the data",
	", which "+budget.Setting+" sets", ", which --memory sets",
	"Monitor is ", "--monitor is ", "RoundTo is ", "--round-to is ", "Most is ", "--most is ", "EMA is ", "--ema is ", "ClipNorm is ", "--clip-norm is ",
	", Batch is ", ", --batch is ", ", MicroBatch is ", ", --micro-batch is ", "Batch is ", "--batch is ", ", MicroBatch ", ", --micro-batch ", "free it with Edit.Input or Loader.Inputs", "--batch-dim N frees it",
	"Alpha is ", "--teacher-share is ", " and Temperature ", " and --temperature ",
	"no such file or directory", "no such file or folder", "is a directory", "is a folder",
	"unexpected EOF", "the text is truncated", "zip: not a valid zip file", "not a NumPy archive, which is a zip file",
)

// notNumbers matches errors of package strconv for text that is not a number.
var notNumbers = regexp.MustCompile(`strconv\.(?:Parse)?([A-Z][a-z]+): parsing "[^"]*": (invalid syntax|value out of range)`)

// broken matches errors of package proto for malformed messages; the space varies.
var broken = regexp.MustCompile(`: proto:[ \x{a0}]cannot parse invalid wire-format data`)

// byIndex matches errors of the library that name a sample by its index. Commands count samples from 1.
var byIndex = regexp.MustCompile(`(?:data: |train: |is for classes: )sample \d+\b`)

// sampleIndex matches the index of a sample.
var sampleIndex = regexp.MustCompile(`\bsample (\d+)\b`)

// ofRules matches the types of optimizers.
var ofRules = regexp.MustCompile(`\boptim\.[A-Z]\w*`)

// noDuration matches errors of package time for text that is not a duration.
var noDuration = regexp.MustCompile(`time: (?:invalid duration|missing unit in duration|unknown unit "[^"]*" in duration) "[^"]*"`)

// folderRead matches the system's error for a folder that is read as a file.
var folderRead = regexp.MustCompile(`read (\S+): is a folder`)

// notJSON matches errors of package encoding/json for a value of the wrong type.
var notJSON = regexp.MustCompile(`json: cannot unmarshal (\w+) into Go (?:struct field|value) \S*?\.?(\w+) of type \S+`)

// wholeJSON matches its errors for the whole text, and for lists.
var wholeJSON = regexp.MustCompile(`json: cannot unmarshal (\w+) into Go value of type (?:map\[string\]interface \{\}|\S+)`)

// wanted describes the arguments of strconv's functions.
var wanted = map[string]string{"Int": "want a whole number", "Atoi": "want a whole number", "Uint": "want a whole number, 0 or more", "Float": "want a number", "Bool": "want true or false"}

// plain is an error with another text.
type plain struct {
	text string
	err  error
}

func (p plain) Error() string { return p.text }
func (p plain) Unwrap() error { return p.err }

// listFlag is a flag that takes several values, with a type name for the help other than the Go type.
type listFlag struct {
	pflag.Value
	pflag.SliceValue
	of string
}

// Type implements pflag.Value.
func (l listFlag) Type() string { return l.of }

// inWords applies plainError to the errors of a command and its subcommands, and listFlag to their flags of several values.
func inWords(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		of, known := map[string]string{"float64Slice": "numbers", "stringArray": "string", "stringSlice": "strings"}[f.Value.Type()]
		if list, ok := f.Value.(pflag.SliceValue); ok && known {
			if f.Value = (listFlag{f.Value, list, of}); f.DefValue == "[]" {
				f.DefValue = ""
			}
		}
	})
	if check := c.Args; !c.HasSubCommands() {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := swallowed(cmd); err != nil || check == nil {
				return err
			}
			return check(cmd, args)
		}
	}
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error { return plainError(lessBatch(cmd, run(cmd, args))) }
	}
	if pre := c.PreRunE; pre != nil {
		c.PreRunE = func(cmd *cobra.Command, args []string) error { return plainError(pre(cmd, args)) }
	}
	for _, sub := range c.Commands() {
		inWords(sub)
	}
}

// lessBatch adds to the error of a run that does not fit in memory that a smaller batch needs less, if the command has batches.
func lessBatch(cmd *cobra.Command, err error) error {
	_, full := errors.AsType[*budget.Error](err)
	at, _ := errors.AsType[*nn.Error](err)
	f := cmd.Flags().Lookup("batch")
	if !full || at == nil || !slices.Contains([]string{"lower", "compile", "run", "gradient"}, at.Stage) || f == nil || f.Value.String() == "1" {
		return err
	}
	return fmt.Errorf("%w; a smaller --batch needs less", err)
}

// swallowed returns an error if the value of a flag is itself a flag: --text -o out.onnx.
func swallowed(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		name, long := strings.CutPrefix(value, "--")
		name, _, _ = strings.Cut(name, "=")
		if err == nil && (long && cmd.Flags().Lookup(name) != nil || len(value) == 2 && value[0] == '-' && cmd.Flags().ShorthandLookup(value[1:]) != nil) {
			err = fmt.Errorf("--%s has no value: %s follows it; %s --help says which it takes", f.Name, value, cmd.CommandPath())
		}
	})
	return err
}

// flagWords rewrites the error for an unknown flag or an invalid flag value.
func flagWords(cmd *cobra.Command, err error) error {
	return plainError(fmt.Errorf("%w%s; %s --help lists the flags", err, meant(cmd, err), cmd.CommandPath()))
}
