package cli

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// settleCommands adds what the root command does by itself: help, completion and --version, and errors for words that are not commands.
func settleCommands(root *cobra.Command) {
	if info, ok := debug.ReadBuildInfo(); ok {
		root.Version = versionOf(info)
		root.SetVersionTemplate("graft {{.Version}}\n")
	}
	root.DisableFlagsInUseLine = true
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begin string) (list []string, _ cobra.ShellCompDirective) {
			for _, c := range root.Commands() {
				if len(args) == 0 && strings.HasPrefix(c.Name(), begin) {
					list = append(list, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err == nil && about == root && len(rest) > 0 {
				err = unknownCommand(root, rest[0])
			} else if err == nil && len(rest) > 0 {
				err = fmt.Errorf("want one command, got %q; graft %s --help is about that command", args, about.Name())
			}
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	})
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			settleShells(c)
		}
	}
}

// settleShells makes a missing or unknown shell an error of completion.
func settleShells(completion *cobra.Command) {
	var shells []string
	for _, c := range completion.Commands() {
		shells = append(shells, c.Name())
		c.Args = noArguments
	}
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("want a shell, one of " + strings.Join(shells, ", ") + "; graft completion bash --help says how to load the script")
		}
		return fmt.Errorf("no shell %q: want one of %s", args[0], strings.Join(shells, ", "))
	}
}

// unknownCommand is the error for a word in the place of a command, with a similar command.
func unknownCommand(root *cobra.Command, word string) error {
	best, at := "", min(3, max(2, 1+len(word)/2))
	for _, c := range root.Commands() {
		d := editDistance(strings.ToLower(word), c.Name())
		if len(word) > 1 && strings.HasPrefix(c.Name(), word) {
			d = 1
		}
		if d < at {
			best, at = c.Name(), d
		}
	}
	switch {
	case strings.HasSuffix(word, ".onnx"):
		return fmt.Errorf("unknown command %q: a command comes before the model: graft inspect %[1]s shows it; graft help lists the commands", word)
	case best != "":
		return fmt.Errorf("unknown command %q; did you mean graft %s?", word, best)
	}
	return fmt.Errorf("unknown command %q; graft help lists the commands", word)
}
